// Lets Node run TypeScript in tests. Compiled sources are cached, which more than halves the start time.
import { registerHooks } from './register-hooks.mjs'

registerHooks('./typescript-hooks.mjs', import.meta.url)
