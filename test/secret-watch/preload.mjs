// Loaded before every program of a watched run: records the secrets that the process knows, and what leaves it.
import module, { syncBuiltinESMExports } from 'node:module'
import { basename, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import vm from 'node:vm'
import { FILE, FOLDER, SCOPE, TEST, watchChildren } from './children.mjs'
import { instrumented } from './instrument.mjs'
import { Recorder } from './recorder.mjs'
import { watchRemovals } from './removals.mjs'
import { watchSinks } from './sinks.mjs'
import { watchSources } from './sources.mjs'

const TEST_PROCESS = /\.test\.m?[jt]s$/
const PRODUCT = /(?:^|\/)(?:svc\.cjs|svc|svc-[\w-]+\.mjs)$/

const { env } = process
const program = process.argv[1] ?? ''
const folder = env[FOLDER]
const isTest = TEST_PROCESS.test(program) && env[SCOPE] === undefined
const scope = isTest ? basename(program) : env[SCOPE]

if (folder !== undefined && scope !== undefined) watch(folder, scope)

function watch(folder, scope) {
  const root = join(env.SECRET_WATCH_ROOT, '/')
  const recorder = new Recorder(join(folder, scope))
  // The entry of a group reports its files; another program is itself the file.
  recorder.file = env[FILE] ?? (program.includes('/.tap/') ? '' : relative(root, resolve(program)))
  recorder.test = env[TEST] ?? ''
  for (const [name, value] of Object.entries(env))
    if (name.startsWith('CANARY_')) recorder.secret(`variable ${name}`, value)
  watchSources(recorder, root)
  watchSinks(recorder, {
    root,
    isProduct: PRODUCT.test(program),
    onOutput: isTest ? data => followTests(recorder, data) : undefined
  })
  watchRemovals(recorder, root)
  watchChildren(recorder, {
    root,
    preload: __filename,
    variables: () => ({
      [FOLDER]: folder,
      [SCOPE]: scope,
      [FILE]: recorder.file,
      [TEST]: recorder.test,
      SECRET_WATCH_ROOT: env.SECRET_WATCH_ROOT
    })
  })
  watchKernel(recorder)
  syncBuiltinESMExports()
}

/** Reads the name of the running test from the report of the test process. */
function followTests(recorder, data) {
  for (const line of String(data).split('\n')) {
    if (/^# \S+\.test\.ts$/.test(line)) recorder.file = line.slice(2)
    else if (line.startsWith('# Subtest: ')) recorder.test = line.slice(11)
  }
}

function watchKernel(recorder) {
  globalThis[Symbol.for('svc.secret-watch')] = {
    secret: value => recorder.secret('a setting or an input', value),
    masked: text => recorder.sink('masked text', 'log, span or path', text),
    operation: ({ id }, failure, output) => recorder.sink('operation', id, shown(failure ?? output))
  }
  // The built program is a script with a code cache, which does not fit the changed source.
  const { Script } = vm
  vm.Script = class extends Script {
    constructor(source, options) {
      const text = typeof source === 'string' && source.includes('addFromInput(') ? instrumented(source) : source
      super(text, text === source || typeof options === 'string' ? options : { ...options, cachedData: undefined })
    }
  }
  // The hooks are registered after those that compile TypeScript, so that they receive JavaScript.
  const { register } = module
  module.register = function (...args) {
    const result = Reflect.apply(register, this, args)
    register(pathToFileURL(join(__dirname, 'hooks.mjs')).href)
    return result
  }
}

/** Returns the text of an outcome: of an error, all that a caller receives. Its cause is only logged, and masked there. */
function shown(value) {
  try {
    if (value instanceof Error) {
      const { message, code, hint, at, data } = value
      return JSON.stringify({ message, code, hint, at, data })
    }
    return JSON.stringify(value) ?? ''
  } catch {
    return String(value)
  }
}
