import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  BUILTIN_DEFS,
  isNativeFunction,
  type NativeSignature,
  show,
  NATIVES as TABLE,
  type TypeDef
} from '@svc/plugin-compiler/testing'
import fc from 'fast-check'
import t from 'tap'
import { BUILTINS, type Host, Interpreter, METHODS, NATIVES, type Value } from '#interpreter'
import { hostOf, LIMITS, programFrom } from '../run-program.ts'
import { isOfType, type Substitution, substitutions, UNIT, valuesOf } from './native-values.ts'

const functions = [
  ...TABLE.globalNames().flatMap(name => TABLE.global(name) ?? []),
  ...TABLE.namespaces().flatMap(path => [...(TABLE.namespace(path)?.values() ?? [])])
].filter(isNativeFunction)

/** Types with methods. Other types share them: `Id` has those of `int`. */
const TYPES: readonly TypeDef[] = [...'str int float dec List Map Option Result'.split(' ')]
  .flatMap(name => BUILTIN_DEFS.get(name) ?? [])
  .concat(['Json', 'Regex', 'Match', 'Response'].flatMap(name => TABLE.type(name) ?? []))

const methods = TYPES.flatMap(def => (TABLE.methodNames(def) ?? []).flatMap(name => TABLE.method(def, name) ?? []))

t.test('the table of natives lists the functions that the interpreter has, and no others', async t => {
  const values = TABLE.globalNames().filter(name => {
    const member = TABLE.global(name)
    return member !== undefined && !isNativeFunction(member)
  })
  t.same(values.sort(), [...BUILTINS.keys()].sort())
  t.same(functions.map(({ path }) => path).sort(), [...NATIVES.keys()].sort())
})

t.test('the table of natives lists the methods that the interpreter has, with their numbers of arguments', async t => {
  const shared = ['to_str', 'to_string']
  for (const [name, table] of Object.entries(METHODS)) {
    const def = BUILTIN_DEFS.get(name) ?? TABLE.type(name)
    if (def === undefined) throw new Error(`${name}: the table does not have the type`)
    t.same([...(TABLE.methodNames(def) ?? [])].sort(), [...Object.keys(table), ...shared].sort(), name)
    for (const [method, { minArgs, maxArgs }] of Object.entries(table)) {
      const signature = TABLE.method(def, method)
      if (signature !== undefined) t.same(countsOf(signature), [minArgs, maxArgs], signature.path)
    }
  }
  for (const signature of functions) {
    const { minArgs = -1, maxArgs = -1 } = NATIVES.get(signature.path) ?? {}
    if (!signature.isVariadic) t.same(countsOf(signature), [minArgs, maxArgs], signature.path)
  }
})

function countsOf({ params }: NativeSignature): [least: number, most: number] {
  return [params.filter(({ isOptional }) => !isOptional).length, params.length]
}

/** A function needs its type: only values without functions can be passed as `any`. */
function declaredType({ params, generics, isVariadic }: NativeSignature, at: number): string {
  const type = params[isVariadic ? 0 : at]?.type
  if (type?.kind !== 'fn') return 'any'
  return generics.reduce((text, { name }) => text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), 'any'), show(type))
}

/** A type parameter of an omitted argument is Unit: `Ok()`. */
function withUnit({ params }: NativeSignature, count: number, types: Substitution): Substitution {
  const omitted = params.slice(count).flatMap(({ type }) => (type.kind === 'rigid' ? [[type, UNIT] as const] : []))
  return new Map([...types, ...omitted])
}

/** Functions that are called elsewhere, with the reason. */
const NOT_CALLED: Readonly<Record<string, string>> = {
  'std.process.exit': 'it ends the program',
  'workflow.continue_as_new': 'only a workflow can call it',
  workflow_wait_signal: 'only a workflow can call it',
  as_user: 'only a test can call it',
  as_anyone: 'only a test can call it',
  is_refused: 'only a test can call it',
  ...Object.fromEntries(
    [...(TABLE.namespace('std.files')?.keys() ?? [])].map(name => [`std.files.${name}`, 'its own tests have a store'])
  ),
  run_later: 'its argument is a call of a function of the program',
  run_at: 'its argument is a call of a function of the program'
}

/** Failures that a signature cannot exclude: they depend on the value, not on its type. */
const FAILURES: Readonly<Record<string, readonly string[]>> = {
  panic: ['RUN_PANIC'],
  assert: ['RUN_ASSERTION'],
  range: ['RUN_ARGUMENTS', 'RUN_MEMORY_LIMIT', 'RUN_STEP_LIMIT'],
  int: ['RUN_OVERFLOW'],
  dec: ['RUN_OVERFLOW'],
  sleep: ['RUN_ARGUMENTS', 'RUN_TIME_LIMIT'],
  workflow_wait: ['RUN_ARGUMENTS'],
  'std.random.int': ['RUN_ARGUMENTS'],
  'std.process.run_ex': ['RUN_ARGUMENTS'],
  'std.process.run_capture_ex': ['RUN_ARGUMENTS'],
  'str.repeat': ['RUN_ARGUMENTS', 'RUN_MEMORY_LIMIT'],
  'int.abs': ['RUN_OVERFLOW'],
  'float.to_int': ['RUN_OVERFLOW'],
  'dec.round': ['RUN_ARGUMENTS'],
  'Option.unwrap': ['RUN_PANIC'],
  'Result.unwrap': ['RUN_PANIC'],
  'Response.redirect': ['RUN_ARGUMENTS'],
  'Response.bytes': ['RUN_ARGUMENTS'],
  'Response.with_status': ['RUN_ARGUMENTS'],
  'Response.with_header': ['RUN_ARGUMENTS'],
  'Response.with_cookie': ['RUN_ARGUMENTS']
}

/** Natives that write values of any type as JSON, which has no NaN and no infinite numbers. */
const WRITERS = new Set(
  'std.log.debug std.log.info std.log.warn std.log.error std.json.stringify std.json.encode std.json.value std.toml.render std.yaml.render std.io.save std.http.post_json HTTP.post_json OpenClaw.call'.split(
    ' '
  )
)

/** Answers of other plugins: their own tests call the real ones. */
const ANSWERS: Readonly<Record<string, unknown>> = {
  'http.request': { status: 200, text: 'answer' },
  'browser.screenshot': new Uint8Array([1, 2, 3]),
  'tools.mutation_kind': 'read_only'
}

t.test('a native that gets arguments of its signature gives a value of its result type', async t => {
  const folder = t.testdir({ 'a.txt': 'text', 'b.json': '{"a": 1}', 'c.csv': 'a,b\n1,2\n', empty: {} })
  mkdirSync(join(folder, 'deep', 'er'), { recursive: true })
  writeFileSync(join(folder, 'deep', 'd.toml'), 'a = 1\n')
  const paths = fc.constantFrom(
    ...['a.txt', 'b.json', 'c.csv', 'empty', 'deep', 'deep/er', 'deep/d.toml', 'none', 'none/at/all', 'new.yaml'].map(
      name => join(folder, name)
    ),
    '',
    'a\u0000b'
  )
  const commands = fc.constantFrom(process.execPath, join(folder, 'none'), '', 'a\u0000b')
  const commandArgs = fc.constantFrom([], ['-e', '0'], ['-p', '"[7]"'], ['-e', 'process.exit(3)'], ['\u0000'])
  /** Values of parameters that name things outside the program, by the start of the path and the parameter. */
  const outside: readonly (readonly [path: string, params: readonly string[], values: fc.Arbitrary<Value>])[] = [
    ['std.fs.', ['path', 'from', 'to', 'pattern'], paths],
    ['std.io.', ['path'], paths],
    ['Browser.screenshot', ['path'], paths],
    ['std.process.', ['command'], commands],
    ['std.process.', ['args'], commandArgs],
    ['std.process.', ['folder'], fc.constantFrom(folder, '/no/such/folder', '')],
    ['std.process.', ['variables'], fc.constantFrom<Value>([], ['A=1'], ['A'], ['=x'], ['A=\u0000'])],
    ['std.env.', ['name'], fc.constantFrom<Value>('SVC_TEST_NATIVE', '', 'A=B', 'a\u0000b')]
  ]
  const host: Host = {
    ...hostOf([]),
    bridge: { ask: kind => ANSWERS[kind] ?? 'answer' } as NonNullable<Host['bridge']>
  }
  const called = [...functions, ...methods].filter(({ path }) => !Object.hasOwn(NOT_CALLED, path))
  const counts = called.map(signature => {
    const [least, most] = countsOf(signature)
    return signature.isVariadic ? [0, 1, 3] : Array.from({ length: most - least + 1 }, (_, more) => least + more)
  })
  const program = called.flatMap((signature, index) => {
    const { path, receiver } = signature
    return (counts[index] ?? []).map(count => {
      const names = Array.from({ length: count }, (_, at) => `p${at}`)
      const declared = names.map((name, at) => `${name}: ${declaredType(signature, at)}`)
      const params = [...(receiver === null ? [] : ['self: any']), ...declared].join(', ')
      const callee = receiver === null ? path : `self.${path.slice(path.lastIndexOf('.') + 1)}`
      return `fn call_${index}_${count}(${params}) to any { return ${callee}(${names.join(', ')}) }`
    })
  })
  const interpreter = new Interpreter(programFrom(program.join('\n')), host)
  const call = (path: string, ...args: Value[]): Value => NATIVES.get(path)?.run(args, undefined as never) ?? null
  for (const [index, signature] of called.entries()) {
    const { path, generics, bounds, receiver, params, isVariadic, result } = signature
    const property = fc
      .tuple(substitutions(generics, bounds), fc.constantFrom(...(counts[index] as number[])))
      .chain(([types, count]) => {
        const args = Array.from({ length: count }, (_, at) => {
          const param = params[isVariadic ? 0 : at]
          const special = outside.find(([start, names]) => path.startsWith(start) && names.includes(param?.name ?? ''))
          return param === undefined ? fc.constant(null) : (special?.[2] ?? valuesOf(param.type, types, call))
        })
        const self = receiver === null ? [] : [valuesOf(receiver, types, call)]
        return fc.tuple(fc.constant(types), fc.constant(count), fc.tuple(...self, ...args))
      })
    const numRuns = path.startsWith('std.process.') ? 12 : 60
    await t.test(path, async t => {
      fc.assert(
        fc.property(property, ([types, count, args]) => {
          let value: Value
          try {
            value = interpreter.call(`call_${index}_${count}`, args, LIMITS)
          } catch (thrown) {
            const { code = '' } = thrown as { readonly code?: string }
            if (FAILURES[path]?.includes(code) === true || (WRITERS.has(path) && code === 'RUN_TYPE')) return true
            throw thrown
          }
          return isOfType(value, result, withUnit(signature, count, types))
        }),
        { numRuns }
      )
      t.pass()
    })
  }
})
