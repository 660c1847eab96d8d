import { spawnSync } from 'node:child_process'
import { listArg, type Native, native, textArg } from '../native.ts'
import { error, NONE, ok, some, type Value } from '../value.ts'

/** Output of a command that is kept. */
const MOST_OUTPUT = 64 * 1024 * 1024

/** Other programs and the environment, for programs that were granted them. */
export const PROCESSES: Readonly<Record<string, Native>> = {
  'std.process.run': native(2, 2, args => ran(args, 'inherit', ({ exit }) => ok(exit)), 'process'),
  'std.process.run_capture': native(
    2,
    2,
    args =>
      ran(args, 'pipe', ({ exit, stdout, stderr }) =>
        ok(new Map<string, Value>(Object.entries({ exit, stdout, stderr })))
      ),
    'process'
  ),
  'std.process.run_capture_lines': native(
    2,
    2,
    args => {
      return ran(args, 'pipe', ({ exit, stdout, stderr }) => {
        if (exit !== 0) return error(`${textArg(args, 0)} ended with ${exit}: ${stderr.trim()}`)
        return ok(stdout.replace(/\r?\n$/, '').split(/\r?\n/))
      })
    },
    'process'
  ),
  'std.env.get': native(
    1,
    1,
    args => {
      const value = process.env[textArg(args, 0)]
      return value === undefined ? NONE : some(value)
    },
    'env'
  ),
  'std.env.args': native(0, 0, (_, { host }) => [...host.args])
}

interface Ended {
  readonly exit: number
  readonly stdout: string
  readonly stderr: string
}

function ran(args: readonly Value[], output: 'inherit' | 'pipe', use: (ended: Ended) => Value): Value {
  const command = textArg(args, 0)
  const given = listArg(args, 1).map((_, index) => textArg(listArg(args, 1), index))
  const ended = spawnSync(command, given, {
    stdio: ['ignore', output, output],
    encoding: 'utf8',
    maxBuffer: MOST_OUTPUT
  })
  if (ended.error !== undefined) return error(`${command}: ${ended.error.message}`)
  return use({ exit: ended.status ?? 1, stdout: ended.stdout ?? '', stderr: ended.stderr ?? '' })
}
