import { ANY, BOOL, FLOAT, generic, INT, STR, type ValueType } from './type.ts'

type Result = (self: readonly ValueType[]) => ValueType

const always =
  (type: ValueType): Result =>
  () =>
    type
const itself: Result = self => generic('List', self[0] ?? ANY)
const optionalItem: Result = self => generic('Option', self[0] ?? ANY)

function table(entries: readonly (readonly [names: string, result: Result])[]): ReadonlyMap<string, Result> {
  return new Map(entries.flatMap(([names, result]) => names.split(' ').map(name => [name, result] as const)))
}

const TEXT = always(STR)
const NUMBER = always(INT)
const TRUTH = always(BOOL)

/** Methods of builtin types, by type name. */
const METHODS: Readonly<Record<string, ReadonlyMap<string, Result>>> = {
  str: table([
    ['len chars_count', NUMBER],
    ['is_empty contains starts_with ends_with', TRUTH],
    [
      'to_upper to_uppercase to_lower to_lowercase trim trim_start trim_end replace repeat slice to_str to_string',
      TEXT
    ],
    ['split', always(generic('List', STR))],
    ['char_at', always(generic('Option', STR))],
    ['index_of', always(generic('Option', INT))]
  ]),
  int: table([
    ['to_str to_string', TEXT],
    ['abs min max', NUMBER],
    ['to_float', always(FLOAT)]
  ]),
  float: table([
    ['to_str to_string', TEXT],
    ['abs floor ceil round sqrt min max', always(FLOAT)],
    ['to_int', NUMBER]
  ]),
  bool: table([['to_str to_string', TEXT]]),
  List: table([
    ['len length', NUMBER],
    ['is_empty contains any all', TRUTH],
    ['push append reverse filter slice sort sort_by', itself],
    ['pop', always(ANY)],
    ['get first last find', optionalItem],
    ['at', self => generic('Result', self[0] ?? ANY, ANY)],
    ['join to_string', TEXT],
    ['map flat_map zip', always(generic('List', ANY))],
    ['fold', always(ANY)]
  ]),
  Option: table([
    ['is_some is_none', TRUTH],
    ['map', always(generic('Option', ANY))],
    ['unwrap unwrap_or', self => self[0] ?? ANY]
  ]),
  Result: table([
    ['is_ok is_err', TRUTH],
    ['unwrap unwrap_or', self => self[0] ?? ANY]
  ])
}

/** Returns the result type of a method; undefined if the type lacks the method; any if its methods are unknown. */
export function methodResult(object: ValueType, method: string): ValueType | undefined {
  if (object.kind === 'dbResult') {
    return methodResult(generic('Result', object.value, ANY), method) ?? methodResult(object.value, method)
  }
  if (object.kind !== 'plain' && object.kind !== 'generic') return ANY
  if (!Object.hasOwn(METHODS, object.name)) return ANY
  const result = METHODS[object.name]?.get(method)
  return result?.(object.kind === 'generic' ? object.args : [])
}

/** Returns the method names of a type, for messages. */
export function methodsOf(object: ValueType): string[] {
  if (object.kind === 'dbResult') return [...methodsOf(generic('Result', ANY)), ...methodsOf(object.value)]
  return 'name' in object && Object.hasOwn(METHODS, object.name) ? [...(METHODS[object.name]?.keys() ?? [])] : []
}
