import { diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Call } from '../../syntax/ast-expressions.ts'
import { BUILTIN_FUNCTIONS } from '../names/builtins.ts'
import type { ModuleName } from '../names/module-names.ts'
import { expectRecords } from './expected-records.ts'
import type { Signatures } from './signatures.ts'
import { ANY, BOOL, FLOAT, fits, generic, INT, NEVER, STR, show, UNIT, type ValueType } from './type.ts'
import { unwrapFix } from './unwrap-fix.ts'

type ArgumentTypes = readonly (ValueType | undefined)[]

const arg = (argumentTypes: ArgumentTypes): ValueType => {
  const [first = ANY] = argumentTypes
  return first
}

const BUILTIN: Readonly<Record<string, (argumentTypes: ArgumentTypes) => ValueType>> = {
  Ok: argumentTypes => generic('Result', argumentTypes.length === 0 ? UNIT : arg(argumentTypes), ANY),
  Error: () => generic('Result', ANY, ANY),
  Err: () => generic('Result', ANY, ANY),
  Some: argumentTypes => generic('Option', arg(argumentTypes)),
  len: () => INT,
  str: () => STR,
  to_string: () => STR,
  type_of: () => STR,
  print: () => UNIT,
  assert: () => UNIT,
  panic: () => NEVER,
  int: () => INT,
  float: () => FLOAT,
  bool: () => BOOL,
  range: () => generic('List', INT)
}

/** Returns the result type of a builtin function. */
export function builtinResult(name: string, argumentTypes: ArgumentTypes): ValueType {
  return BUILTIN_FUNCTIONS.has(name) && Object.hasOwn(BUILTIN, name) ? (BUILTIN[name]?.(argumentTypes) ?? ANY) : ANY
}

/** Returns the result type of a call of a module name. */
export function calledType({ kind, declaration }: ModuleName, signatures: Signatures): ValueType {
  if (kind === 'constructor' && declaration.kind === 'Type') {
    return signatures.reader.declared(declaration.name.text) ?? ANY
  }
  return kind === 'function' ? signatures.resultOf(declaration) : ANY
}

/**
 * Compares arguments with their parameters. `piped` is the first argument. Another rule checks the number of arguments.
 */
export function checkArguments(
  call: Call,
  argumentTypes: readonly ValueType[],
  piped: ValueType | null,
  { name, signature, declaration }: ModuleName,
  signatures: Signatures
): void {
  if (signature === null) return
  const { reader } = signatures
  const generics = 'generics' in declaration ? declaration.generics.map(({ text }) => text) : []
  let position = piped === null ? 0 : 1
  for (const [index, argument] of call.args.entries()) {
    const named = argument.name?.text
    const param =
      named === undefined ? signature.params[position++] : signature.params.find(each => each.name.text === named)
    const type = argumentTypes[index]
    if (param === undefined || type === undefined || param.type === null) continue
    if (generics.length > 0) continue
    const expected = reader.read(param.type)
    expectRecords(argument.value, expected, signatures)
    if (fits(type, expected)) continue
    signatures.report(
      diagnostic(
        'typecheck.arg_mismatch',
        `the argument does not match the type of \`${param.name.text}\` of \`${name.text}\``,
        argument.value,
        {
          expectedType: show(expected),
          foundType: show(type),
          fixes: unwrapFix(argument.value, expected, type),
          related: [{ span: param, message: 'declared here' }]
        }
      )
    )
  }
}
