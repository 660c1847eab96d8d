// Lets child processes and worker threads be watched, too, and records the arguments of the former.
import childProcess from 'node:child_process'
import { basename } from 'node:path'
import workers from 'node:worker_threads'
import { caller, isTestFile } from './frames.mjs'
import { registerEnvironment } from './sources.mjs'

/** Isolated plugins run under Node's permission model, which refuses to read the preload. Their output passes their parent. */
const SANDBOX = /--(?:experimental-)?permission/
/** Environment variables of the watch. */
export const FOLDER = 'SECRET_WATCH_FOLDER'
export const SCOPE = 'SECRET_WATCH_SCOPE'
export const FILE = 'SECRET_WATCH_FILE'
export const TEST = 'SECRET_WATCH_TEST'

/** Watches asynchronous child processes and worker threads. Of synchronous ones, which svc rarely runs, only the arguments. */
export function watchChildren(recorder, { root, preload, variables }) {
  const { spawn } = childProcess.ChildProcess.prototype
  childProcess.ChildProcess.prototype.spawn = function (options) {
    registerEnvironment(recorder, options.envPairs ?? [])
    const from = caller(root)
    if (!isTestFile(from))
      recorder.sink('argument', `${basename(options.file)} from ${from}`, (options.args ?? []).join('\0'))
    return Reflect.apply(spawn, this, [inherited(options, preload, variables())])
  }
  for (const name of ['spawnSync', 'execFileSync']) {
    const run = childProcess[name]
    childProcess[name] = function (file, ...rest) {
      const args = Array.isArray(rest[0]) ? rest[0] : []
      const from = caller(root)
      if (!isTestFile(from)) recorder.sink('argument', `${basename(String(file))} from ${from}`, args.join('\0'))
      return Reflect.apply(run, this, [file, ...rest])
    }
  }
  const { Worker } = workers
  workers.Worker = class extends Worker {
    constructor(script, options = {}) {
      super(
        script,
        options.execArgv === undefined ? options : { ...options, execArgv: [...options.execArgv, '--require', preload] }
      )
    }
  }
}

/** Returns the options of a child process with the preload in its environment. */
function inherited(options, preload, variables) {
  const { file, args = [], envPairs = [] } = options
  if (basename(file) !== 'node' || SANDBOX.test(args.join(' ')) || SANDBOX.test(variable(envPairs, 'NODE_OPTIONS')))
    return options
  const nodeOptions = variable(envPairs, 'NODE_OPTIONS')
  const own = {
    ...variables,
    NODE_OPTIONS: nodeOptions.includes(preload) ? nodeOptions : `${nodeOptions} --require=${preload}`.trim()
  }
  const others = envPairs.filter(pair => !(pair.slice(0, pair.indexOf('=')) in own))
  return { ...options, envPairs: [...others, ...Object.entries(own).map(([name, value]) => `${name}=${value}`)] }
}

function variable(pairs, name) {
  return pairs.find(pair => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? ''
}
