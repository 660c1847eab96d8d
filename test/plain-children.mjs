// Keeps the test runner out of the child processes of tests. Its module loader more than doubles the start time of
// `svc`, and the sandbox of isolated plugins does not allow it. A run that measures coverage keeps it.
const key = Symbol.for('process-on-spawn@*:singletonId')
const { env } = process

if (env._TAPJS_PROCESSINFO_COVERAGE_ !== '1') {
  if (!(key in globalThis)) Object.defineProperty(globalThis, key, { value: { version: 1, listeners: [] } })
  globalThis[key].listeners = { push() {}, unshift() {}, forEach() {}, indexOf: () => -1 }
  env.NODE_OPTIONS = (env.NODE_OPTIONS ?? '').replace(/("?)--import=\S*@tapjs\/processinfo\S*\1/, '').trim()
}
