// Lets Node run the TypeScript script of a child process, as one bundle.
import { realpathSync } from 'node:fs'
import { registerHooks } from './register-hooks.mjs'

const script = process.argv[1]
const entry = script?.endsWith('.ts') ? realpathSync(script) : ''
registerHooks('./bundle-hooks.mjs', import.meta.url, { data: { entry } })
