// Lets Node run the TypeScript script of a child process, as one bundle.
import { realpathSync } from 'node:fs'
import { register } from 'node:module'

const script = process.argv[1]
const entry = script?.endsWith('.ts') ? realpathSync(script) : ''
register('./bundle-hooks.mjs', import.meta.url, { data: { entry } })
