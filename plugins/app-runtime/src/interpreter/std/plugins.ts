import { isSvcError } from '@svc/plugin-sdk'
import { printJson } from '../../wire/json-text.ts'
import { fail } from '../failure.ts'
import type { Machine } from '../machine.ts'
import { type Native, native, textArg, unrepeatable } from '../native.ts'
import { toJson } from '../to-json.ts'
import { error, ok, type Value } from '../value.ts'

/** Functions of other plugins, for programs with the capability. */
export const PLUGINS: Readonly<Record<string, Native>> = {
  'Speech.transcribe': native(
    1,
    1,
    (args, machine) => callPlugin(machine, 'speech.transcribe', textArg(args, 0)),
    'fs'
  ),
  'OpenClaw.list_skills': native(0, 0, (_, machine) => callPlugin(machine, 'skills.list', null), 'net'),
  'OpenClaw.call': native(
    2,
    2,
    (args, machine) => {
      const [, input = null] = args
      const command = typeof input === 'string' ? input : printJson(toJson(input))
      return callPlugin(machine, 'skills.call', { skill: textArg(args, 0), command })
    },
    'net'
  ),
  'OpenClaw.subscribe': native(
    1,
    1,
    (args, machine) => callPlugin(machine, 'skills.subscribe', textArg(args, 0)),
    'net'
  ),
  'OpenClaw.unsubscribe': native(
    1,
    1,
    (args, machine) => callPlugin(machine, 'skills.unsubscribe', textArg(args, 0)),
    'net'
  ),
  'OpenClaw.notify': native(
    2,
    2,
    (args, machine) => callPlugin(machine, 'skills.notify', { domain: textArg(args, 0), message: textArg(args, 1) }),
    'net'
  ),
  // Non-deterministic: the plugin that provides the tools may change between calls.
  'std.agentos.mutation_kind_for_tool': unrepeatable(1, 1, (args, machine) => {
    const tool = textArg(args, 0)
    try {
      return (machine.host.bridge?.ask('tools.mutation_kind', tool, machine.millisecondsLeft()) ?? 'unknown') as string
    } catch (cause) {
      // Without a provider, the kind is unknown. A program does not see which plugins exist.
      if (isSvcError(cause, 'RUN_UNSUPPORTED')) return 'unknown'
      throw cause
    }
  })
}

/** Failures that end the program. All others become an Error value that the program can handle. */
const ENDINGS: readonly string[] = ['RUN_TIME_LIMIT', 'RUN_HOST_FAILED']

function callPlugin(machine: Machine, question: string, payload: unknown): Value {
  const { bridge } = machine.host
  if (bridge === null) return error('other plugins are not available here')
  try {
    const text = bridge.ask(question, payload, machine.millisecondsLeft()) as string
    machine.allocate(2 * text.length)
    return ok(text)
  } catch (cause) {
    if (!isSvcError(cause) || ENDINGS.includes(cause.code)) throw cause
    if (cause.code === 'RUN_UNSUPPORTED') return fail('RUN_UNSUPPORTED', cause.message)
    return error(cause.hint === undefined ? cause.message : `${cause.message}: ${cause.hint}`)
  }
}
