import { createHash, randomUUID } from 'node:crypto'
import { basename, dirname, extname, join } from 'node:path'
import { escapeHtml } from '../pages/html.ts'
import { Decimal } from './decimal.ts'
import { display } from './display.ts'
import { durationOf } from './duration.ts'
import { fail } from './failure.ts'
import { CAPABILITIES, type LogLine } from './host.ts'
import { identityOf } from './identity.ts'
import { logFields } from './log-fields.ts'
import { elementCount } from './methods/call-method.ts'
import { sortedBy } from './methods/sorted.ts'
import { functionArg, intArg, listArg, type Native, native, textArg, unrepeatable } from './native.ts'
import { floatNumber, wholeNumber } from './number-text.ts'
import { intOf } from './operators.ts'
import { ANONYMOUS } from './request.ts'
import { RESPONSES } from './response.ts'
import { BROWSER } from './std/browser.ts'
import { FILES } from './std/files.ts'
import { FORMAT_FUNCTIONS } from './std/formats.ts'
import { REQUESTS } from './std/http.ts'
import { DATA_FILES } from './std/io.ts'
import { JSON_FUNCTIONS } from './std/json.ts'
import { MATHEMATICS } from './std/math.ts'
import { MOBILE } from './std/mobile.ts'
import { PLUGINS } from './std/plugins.ts'
import { PROCESSES } from './std/processes.ts'
import { REGULAR_EXPRESSIONS } from './std/regex.ts'
import { STORED_FILES } from './std/stored-files.ts'
import { callAs, isRefused } from './test-callers.ts'
import { typeName } from './type-name.ts'
import { error, Float, isInt, isList, isRecord, NONE, ok, some, type Value } from './value.ts'

const ANY = Number.POSITIVE_INFINITY

/** First names in the paths of host functions. */
export const HOST_NAMESPACES: ReadonlySet<string> = new Set(
  'std fs process env path json secrets regex csv toml yaml io http mobile workflow OpenClaw Browser Speech HTTP Response'.split(
    ' '
  )
)

const FUNCTIONS: Readonly<Record<string, Native>> = {
  Ok: native(0, 1, ([value = null]) => ok(value)),
  Error: native(1, 1, ([message = null]) => error(message)),
  Err: native(1, 1, ([message = null]) => error(message)),
  Some: native(1, 1, ([value = null]) => some(value)),
  len: native(1, 1, ([value = null]) => elementCount(value)),
  str: native(1, 1, ([value = null]) => display(value)),
  to_string: native(1, 1, ([value = null]) => display(value)),
  print: native(0, ANY, (args, { host, workflow }) => {
    if (workflow?.isReplaying !== true) host.print(args.map(display).join(' '))
    return null
  }),
  assert: native(1, 2, ([condition = null, message]) => {
    if (condition === true) return null
    if (condition !== false) return fail('RUN_TYPE', `assert needs a bool, found ${typeName(condition)}`)
    return fail('RUN_ASSERTION', message === undefined ? 'the assertion failed' : display(message))
  }),
  panic: native(0, 1, ([message = '']) => fail('RUN_PANIC', display(message) || 'the program panicked')),
  has_capability: native(1, 1, (args, { host }) => {
    const [name] = args
    return CAPABILITIES.some(each => each === name && host.capabilities.has(each))
  }),
  int: native(1, 1, ([value = null]) => toInt(value)),
  float: native(1, 1, ([value = null]) => toFloat(value)),
  dec: native(1, 1, ([value = null]) => toDecimal(value)),
  bool: native(1, 1, ([value = null]) => toBool(value)),
  range: native(1, 2, (args, machine) => {
    const [from, until] = args.length === 1 ? [0, intArg(args, 0)] : [intArg(args, 0), intArg(args, 1)]
    const length = Math.max(0, until - from)
    machine.allocate(8 * length)
    machine.charge(Math.ceil(length / 16))
    if (!Number.isSafeInteger(from) || !Number.isSafeInteger(until)) {
      fail('RUN_ARGUMENTS', `range needs ints below 2^53, got ${from} and ${until}`)
    }
    return Array.from({ length }, (_, index) => from + index)
  }),
  type_of: native(1, 1, ([value = null]) => typeName(value)),
  sleep: unrepeatable(1, 1, (args, machine) => {
    const duration = durationOf(args[0] ?? null)
    const left = Math.max(0, machine.timeLeft())
    machine.host.sleep(Math.min(duration, left))
    if (duration < left) return null
    return fail('RUN_TIME_LIMIT', `the sleep would exceed the time limit: ${machine.timeLimit}`)
  }),
  as_user: native(2, 2, (args, machine) => {
    const identity = identityOf(args[0] ?? null)
    return callAs(machine, { identity, isSystem: false, parts: null }, functionArg(args, 1))
  }),
  is_refused: native(1, 1, (args, machine) => isRefused(machine, functionArg(args, 0))),
  as_anyone: native(1, 1, (args, machine) => callAs(machine, ANONYMOUS, functionArg(args, 0))),
  // Calls are compiled by `compileLater`; these are the values of the names.
  run_later: native(2, 2, () => fail('RUN_ARGUMENTS', 'run_later needs a call: run_later("1h", f(a))')),
  run_at: native(2, 2, () => fail('RUN_ARGUMENTS', 'run_at needs a call: run_at(time, f(a))')),
  workflow_wait: native(1, 1, (args, { workflow, host }) => {
    const duration = durationOf(args[0] ?? null)
    if (workflow !== null) return workflow.wait(duration)
    host.sleep(duration)
    return null
  }),
  workflow_wait_signal: native(1, 1, (args, { workflow }) => {
    const key = textArg(args, 0)
    return workflow === null
      ? fail('RUN_UNSUPPORTED', 'only a workflow can wait for a signal')
      : workflow.waitForSignal(key)
  }),
  'workflow.version': native(3, 3, (args, { workflow }) => {
    const [id, oldest, newest] = [textArg(args, 0), intArg(args, 1), intArg(args, 2)]
    return workflow?.version(id, oldest, newest) ?? (args[2] as Value)
  }),
  'workflow.continue_as_new': native(0, Number.MAX_SAFE_INTEGER, (args, { workflow }) =>
    workflow === null
      ? fail('RUN_UNSUPPORTED', 'only a workflow can continue as new')
      : workflow.continueAsNew(args.map(each => each ?? null))
  ),
  state_load: native(1, 1, (args, { actors }) => actors?.load(textArg(args, 0)) ?? NONE),
  state_save: native(2, 2, (args, { actors }) => actors?.save(textArg(args, 0), args[1] ?? null) ?? null),
  'std.time.now_ms': unrepeatable(0, 0, (_, { host }) => host.now()),
  'std.now_ms': unrepeatable(0, 0, (_, { host }) => host.now()),
  'std.random.float': unrepeatable(0, 0, (_, { host }) => new Float(host.random())),
  'std.random.int': unrepeatable(2, 2, (args, { host }) => {
    const [low, high] = [intArg(args, 0), intArg(args, 1)]
    if (high <= low) fail('RUN_ARGUMENTS', `std.random.int needs low < high, got ${low} and ${high}`)
    return intOf(BigInt(Math.floor(host.random() * (high - low))) + BigInt(low), -1)
  }),
  'std.random.choice': unrepeatable(1, 1, (args, { host }) => {
    const list = listArg(args, 0)
    return list.length === 0 ? NONE : some(list[Math.floor(host.random() * list.length)] as Value)
  }),
  'std.html.escape': native(1, 1, args => escapeHtml(textArg(args, 0))),
  'std.crypto.uuid': unrepeatable(0, 0, () => randomUUID()),
  'std.crypto.hash_fast': native(1, 1, args => digest('sha1', textArg(args, 0)).slice(0, 16)),
  'std.crypto.hash_secure': native(1, 1, args => digest('sha256', textArg(args, 0))),
  'std.path.join': native(2, 2, args => join(textArg(args, 0), textArg(args, 1))),
  'std.path.join_many': native(1, 1, args => join(...listArg(args, 0).map((_, at) => textArg(listArg(args, 0), at)))),
  'std.path.basename': native(1, 1, args => basename(textArg(args, 0))),
  'std.path.dirname': native(1, 1, args => dirname(textArg(args, 0))),
  'std.path.extension': native(1, 1, args => extname(textArg(args, 0)).slice(1)),
  ...logging('debug'),
  ...logging('info'),
  ...logging('warn'),
  ...logging('error'),
  'std.list.sort': native(1, 1, (args, machine) => {
    const list = listArg(args, 0)
    return sortedBy(list, list, machine, -1)
  }),
  'std.list.reduce': native(3, 3, args => {
    const fn = functionArg(args, 2)
    return listArg(args, 0).reduce<Value>((total, each) => fn.call([total, each], -1), args[1] ?? null)
  })
}

export const NATIVES: ReadonlyMap<string, Native> = new Map(
  Object.entries({
    ...FUNCTIONS,
    'std.hash_fast': FUNCTIONS['std.crypto.hash_fast'] as Native,
    'std.hash_secure': FUNCTIONS['std.crypto.hash_secure'] as Native,
    'std.uuid': FUNCTIONS['std.crypto.uuid'] as Native,
    ...MATHEMATICS,
    ...JSON_FUNCTIONS,
    ...REGULAR_EXPRESSIONS,
    ...STORED_FILES,
    ...REQUESTS,
    ...RESPONSES,
    ...FORMAT_FUNCTIONS,
    ...DATA_FILES,
    ...MOBILE,
    ...PLUGINS,
    ...BROWSER,
    ...FILES,
    ...PROCESSES
  })
)

function logging(level: LogLine['level']): Record<string, Native> {
  return {
    [`std.log.${level}`]: native(1, 2, ([text = null, fields], { host, workflow }) => {
      if (workflow?.isReplaying === true) return null
      host.log({ level, text: display(text), ...(fields !== undefined && { fields: logFields(fields) }) })
      return null
    })
  }
}

function digest(algorithm: string, text: string): string {
  return createHash(algorithm).update(text).digest('hex')
}

function toInt(value: Value): Value {
  if (isInt(value)) return value
  if (typeof value === 'boolean') return value ? 1 : 0
  if (value instanceof Decimal) return intOf(value.truncated(), -1)
  if (value instanceof Float) {
    if (!Number.isFinite(value.value)) return fail('RUN_OVERFLOW', `${value.value} is not an int`)
    return intOf(BigInt(Math.trunc(value.value)), -1)
  }
  return intOf((typeof value === 'string' ? wholeNumber(value) : undefined) ?? 0n, -1)
}

function toFloat(value: Value): Value {
  if (value instanceof Float) return value
  if (isInt(value)) return new Float(Number(value))
  if (value instanceof Decimal) return new Float(value.toNumber())
  if (typeof value === 'boolean') return new Float(value ? 1 : 0)
  return new Float((typeof value === 'string' ? floatNumber(value) : undefined) ?? 0)
}

function toDecimal(value: Value): Value {
  if (value instanceof Decimal) return value
  if (value instanceof Float) {
    if (!Number.isFinite(value.value)) return fail('RUN_OVERFLOW', `${value.value} is not a dec`)
    const [digits = '', exponent = '0'] = String(value.value).split('e')
    return decimalOf(digits).shifted(Number(exponent))
  }
  if (isInt(value)) return decimalOf(String(value))
  if (typeof value === 'boolean') return decimalOf(value ? '1' : '0')
  return decimalOf(typeof value === 'string' ? value.trim() : '')
}

function decimalOf(text: string): Decimal {
  return Decimal.parse(text) ?? new Decimal(0n, 0)
}

/** True for a value that is not zero, empty, null or None. */
function toBool(value: Value): boolean {
  if (typeof value === 'boolean') return value
  if (isInt(value)) return value !== 0
  if (value instanceof Float) return value.value !== 0
  if (value instanceof Decimal) return value.digits !== 0n
  if (typeof value === 'string' || isList(value)) return value.length > 0
  if (isRecord(value)) return value.size > 0
  return value !== null && value !== NONE
}
