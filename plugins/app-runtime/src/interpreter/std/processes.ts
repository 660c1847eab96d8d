import { spawn, spawnSync } from 'node:child_process'
import { errorMessage } from '@svc/plugin-sdk'
import which from 'which'
import { parseJson } from '../../wire/json-text.ts'
import { fail } from '../failure.ts'
import { Exit } from '../host.ts'
import { intArg, listArg, type Native, native, textArg } from '../native.ts'
import { error, NONE, ok, some, type Value } from '../value.ts'
import { read } from './formats.ts'

/** Maximum captured output of a command. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

/** Functions of processes and the environment, for programs with the capability. */
export const PROCESSES: Readonly<Record<string, Native>> = {
  'std.process.run': native(2, 2, args => runCommand(args, 'inherit', ({ exit }) => ok(exit)), 'process'),
  'std.process.run_capture': native(2, 2, args => runCommand(args, 'pipe', captured), 'process'),
  'std.process.run_capture_lines': native(
    2,
    2,
    args => {
      return runCommand(args, 'pipe', ({ exit, stdout, stderr }) => {
        if (exit !== 0) return error(`${textArg(args, 0)} ended with code ${exit}: ${stderr.trim()}`)
        return ok(stdout.replace(/\r?\n$/, '').split(/\r?\n/))
      })
    },
    'process'
  ),
  'std.process.run_capture_json': native(
    2,
    2,
    args =>
      runCommand(args, 'pipe', ({ exit, stdout, stderr }) => {
        if (exit !== 0) return error(`${textArg(args, 0)} ended with code ${exit}: ${stderr.trim()}`)
        return read('JSON', () => parseJson(stdout))
      }),
    'process'
  ),
  'std.process.run_ex': native(4, 4, args => runCommand(args, 'inherit', ({ exit }) => ok(exit)), 'process'),
  'std.process.run_capture_ex': native(4, 4, args => runCommand(args, 'pipe', captured), 'process'),
  'std.process.exec': native(
    2,
    2,
    args =>
      runCommand(args, 'inherit', ({ exit }) =>
        exit === 0 ? ok(null) : error(`${textArg(args, 0)} ended with code ${exit}`)
      ),
    'process'
  ),
  'std.process.which': native(
    1,
    1,
    args => {
      const found = which.sync(textArg(args, 0), { nothrow: true })
      return found === null ? NONE : some(found)
    },
    'process'
  ),
  'std.process.spawn_background': native(
    2,
    2,
    args => {
      const [command, commandArgs] = [textArg(args, 0), strListArg(args, 1)]
      return started(command, () => {
        const child = spawn(command, commandArgs, { stdio: 'ignore', detached: true })
        // A failed start leaves `pid` undefined; without a listener, its event would crash the process.
        child.on('error', () => undefined)
        child.unref()
        return child.pid === undefined ? error(`${command} cannot be started`) : ok(child.pid)
      })
    },
    'process'
  ),
  'std.process.register_exit_command': native(
    2,
    2,
    (args, { host }) => {
      const [command, commandArgs] = [textArg(args, 0), strListArg(args, 1)]
      if (host.ending === null) return error('a served program does not end, so the command would never run')
      host.ending.push(() => void spawnSync(command, commandArgs, { stdio: 'inherit' }))
      return ok(null)
    },
    'process'
  ),
  'std.process.exit': native(1, 1, (args, { host }) => {
    if (host.ending === null) fail('RUN_UNSUPPORTED', 'a served program cannot end the process')
    throw new Exit(intArg(args, 0))
  }),
  'std.env.get': native(
    1,
    1,
    args => {
      const value = process.env[textArg(args, 0)]
      return value === undefined ? NONE : some(value)
    },
    'env'
  ),
  'std.env.set': native(
    2,
    2,
    args => {
      process.env[textArg(args, 0)] = textArg(args, 1)
      return null
    },
    'env'
  ),
  'std.env.args': native(0, 0, (_, { host }) => [...host.args])
}

interface CommandResult {
  readonly exit: number
  readonly stdout: string
  readonly stderr: string
}

const captured = ({ exit, stdout, stderr }: CommandResult): Value =>
  ok(new Map<string, Value>(Object.entries({ exit, stdout, stderr })))

/** Runs a command. `args`: the command, its arguments, and optionally the folder and `NAME=value` pairs. */
function runCommand(args: readonly Value[], output: 'inherit' | 'pipe', use: (result: CommandResult) => Value): Value {
  const [command, commandArgs] = [textArg(args, 0), strListArg(args, 1)]
  const place =
    args.length < 4 ? {} : { cwd: textArg(args, 2), env: { ...process.env, ...variables(strListArg(args, 3)) } }
  return started(command, () => {
    const result = spawnSync(command, commandArgs, {
      stdio: ['ignore', output, output],
      encoding: 'utf8',
      maxBuffer: MAX_OUTPUT_BYTES,
      ...place
    })
    if (result.error !== undefined) return error(`${command}: ${result.error.message}`)
    return use({ exit: result.status ?? 1, stdout: result.stdout ?? '', stderr: result.stderr ?? '' })
  })
}

/** Returns an Error for a command that Node.js refuses to start, such as an empty one. */
function started(command: string, start: () => Value): Value {
  try {
    return start()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_INVALID_ARG_VALUE') throw cause
    return error(`${command}: ${errorMessage(cause)}`)
  }
}

function strListArg(args: readonly Value[], index: number): string[] {
  const list = listArg(args, index)
  return list.map((_, at) => textArg(list, at))
}

function variables(texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map(text => {
      const end = text.indexOf('=')
      if (end < 1) return fail('RUN_ARGUMENTS', `an environment variable must be NAME=value, found ${text}`)
      return [text.slice(0, end), text.slice(end + 1)]
    })
  )
}
