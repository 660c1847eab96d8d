import type { HirAggregate } from '@svc/contracts'
import type { Call, Expression, ObjectEntry } from '../../syntax/ast-expressions.ts'
import { bare, entryKey, entryValue } from '../../syntax/entries.ts'
import { nearName } from '../../syntax/near-name.ts'
import type { Name } from '../../syntax/node.ts'
import type { ChainArguments } from './chain-arguments.ts'
import type { Columns, ScalarName } from './columns.ts'

type AggregateFunction = HirAggregate['function']

const FUNCTIONS: Readonly<Record<string, Exclude<AggregateFunction, 'Count'>>> = {
  sum: 'Sum',
  avg: 'Avg',
  min: 'Min',
  max: 'Max'
}

/** Modifiers that compute one value of a column. */
export const AGGREGATES: readonly string[] = Object.keys(FUNCTIONS)

const NUMBERS: readonly ScalarName[] = ['int', 'float', 'dec']

/** Column types that each function accepts. */
const ACCEPTED: Readonly<Record<Exclude<AggregateFunction, 'Count'>, readonly ScalarName[]>> = {
  Sum: NUMBERS,
  Avg: NUMBERS,
  Min: [...NUMBERS, 'str', 'char', 'Id'],
  Max: [...NUMBERS, 'str', 'char', 'Id']
}

/** Type of an aggregate: a plain type, or an Option of it if there may be no value. */
export interface AggregateType {
  readonly scalar: ScalarName
  readonly isOptional: boolean
}

/**
 * Returns the type of an aggregate; null if its column is unknown or has no type that it accepts. Without rows, `count`
 * and `sum` are zero and the others None. A group has at least one row.
 */
export function aggregateType(
  { function: name, field }: HirAggregate,
  columns: Columns | undefined,
  isGrouped: boolean
): AggregateType | null {
  if (name === 'Count' || field === null) return { scalar: 'int', isOptional: false }
  const facts = columns?.facts(field)
  if (facts === undefined || facts.scalar === null || !ACCEPTED[name].includes(facts.scalar)) return null
  const scalar = name === 'Avg' && facts.scalar === 'int' ? 'float' : facts.scalar
  return { scalar, isOptional: name !== 'Sum' && (!isGrouped || facts.isOptional) }
}

/** Reads `sum("column")` and the like. Returns null if the argument is no column. */
export function readAggregate(call: Call, name: Name, args: ChainArguments): HirAggregate | null {
  if (!args.checkArity(call, name, 1, 1)) return null
  return readField(name.text, name.text, call.args[0]?.value as Expression, args)
}

/** Reads `aggregate({ total: { sum: "amount" }, orders: { count: true } })`. */
export function readAggregates(call: Call, name: Name, args: ChainArguments): HirAggregate[] {
  if (!args.checkArity(call, name, 1, 1)) return []
  const object = bare(call.args[0]?.value as Expression)
  if (object.kind !== 'Object' || object.entries.length === 0) {
    args.problem('`aggregate` takes an object literal with at least one member', object, [EXAMPLE])
    return []
  }
  const names = new Set<string>()
  return object.entries.flatMap(entry => {
    const key = entryKey(entry)
    if (names.has(key)) args.problem(`two values are named \`${key}\``, entry.key)
    names.add(key)
    return readEntry(key, entry, args) ?? []
  })
}

const EXAMPLE = 'write `aggregate({ total: { sum: "amount" }, rows: { count: true } })`'

function readEntry(key: string, entry: ObjectEntry, args: ChainArguments): HirAggregate | null {
  const value = bare(entryValue(entry))
  const [operation, ...others] = value.kind === 'Object' ? value.entries : []
  if (operation === undefined || others.length > 0) {
    args.problem(`\`${key}\` needs one function of a column`, value, [EXAMPLE])
    return null
  }
  const name = entryKey(operation)
  const operand = bare(entryValue(operation))
  if (name === 'count') {
    if (operand.kind !== 'Bool' || !operand.value) args.problem('write `count: true`: it counts rows', operand)
    return { name: key, function: 'Count', field: null }
  }
  if (!Object.hasOwn(FUNCTIONS, name)) {
    const near = nearName(name, ['count', ...AGGREGATES])
    args.problem(`there is no function \`${name}\` of columns`, operation.key, [
      near === undefined ? 'the functions are `count`, `sum`, `avg`, `min` and `max`' : `write \`${near}\``
    ])
    return null
  }
  if (operand.kind !== 'String') {
    args.problem(`\`${name}\` takes the name of a column as a string`, operand)
    return null
  }
  return readField(key, name, operand, args)
}

function readField(key: string, name: string, value: Expression, args: ChainArguments): HirAggregate | null {
  const field = args.columnOf(value)
  if (field === null) {
    args.problem(`\`${name}\` takes a column name`, value)
    return null
  }
  const aggregate: HirAggregate = { name: key, function: FUNCTIONS[name] as AggregateFunction, field }
  if (args.columns?.indexOf(field) !== undefined && aggregateType(aggregate, args.columns, false) === null) {
    const accepted = ACCEPTED[FUNCTIONS[name] as keyof typeof ACCEPTED].map(each => `\`${each}\``).join(', ')
    args.typeProblem(`\`${name}\` cannot be computed of the column \`${field}\``, value, [
      `the type of the column must be one of ${accepted}`
    ])
  }
  return aggregate
}
