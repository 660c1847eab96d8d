import { display } from '../display.ts'
import { isEqual } from '../equality.ts'
import type { Machine } from '../machine.ts'
import { functionArg, intArg, listArg, textArg } from '../native.ts'
import { truth } from '../operators.ts'
import { error, NONE, ok, some, Tuple, type Value } from '../value.ts'
import { type Method, type Methods, method } from './method.ts'
import { sortedBy } from './sorted.ts'

type List = readonly Value[]

/** Methods of lists. None changes the list: `push` returns a new one. */
export const LIST_METHODS: Methods<List> = {
  len: method(0, 0, list => list.length),
  length: method(0, 0, list => list.length),
  is_empty: method(0, 0, list => list.length === 0),
  push: method(1, 1, appended),
  append: method(1, 1, appended),
  pop: method(0, 0, (list, _, machine) => copied(machine, list).slice(0, -1)),
  get: method(1, 1, (list, args) => optional(list[fromEnd(list, intArg(args, 0))])),
  at: method(1, 1, (list, args) => {
    const value = list[fromEnd(list, intArg(args, 0))]
    return value === undefined ? error(`there is no element ${args[0]}: the length is ${list.length}`) : ok(value)
  }),
  first: method(0, 0, list => optional(list[0])),
  last: method(0, 0, list => optional(list.at(-1))),
  contains: method(1, 1, (list, args, machine) => {
    machine.charge(Math.ceil(list.length / 8))
    return list.some(each => isEqual(each, args[0] as Value))
  }),
  join: method(1, 1, (list, args, machine) => {
    const text = list.map(display).join(textArg(args, 0))
    machine.allocate(2 * text.length)
    return text
  }),
  reverse: method(0, 0, (list, _, machine) => copied(machine, list).toReversed()),
  slice: method(2, 2, (list, args, machine) => {
    const from = Math.max(0, intArg(args, 0))
    return copied(machine, list).slice(from, Math.max(from, intArg(args, 1)))
  }),
  map: overEach((list, call) => list.map(call)),
  filter: overEach((list, call, at) => list.filter(each => truth(call(each), at))),
  find: overEach((list, call, at) => optional(list.find(each => truth(call(each), at)))),
  any: overEach((list, call, at) => list.some(each => truth(call(each), at))),
  all: overEach((list, call, at) => list.every(each => truth(call(each), at))),
  flat_map: overEach((list, call, _at, machine) => {
    const all: Value[] = []
    for (const each of list) {
      const items = listArg([call(each)], 0)
      copied(machine, items)
      for (const item of items) all.push(item)
    }
    return all
  }),
  fold: method(2, 2, (list, args, machine, at) => {
    const { call } = functionArg(args, 1)
    machine.charge(list.length)
    return list.reduce((total, each) => call([total, each], at), args[0] as Value)
  }),
  zip: method(1, 1, (list, args, machine) => {
    const other = listArg(args, 0)
    const length = Math.min(list.length, other.length)
    machine.allocate(16 + 48 * length)
    machine.charge(length >> 4)
    return Array.from({ length }, (_, index) => new Tuple([list[index] as Value, other[index] as Value]))
  }),
  sort: method(0, 0, (list, _, machine, at) => sortedBy(list, list, machine, at)),
  sort_by: overEach((list, call, at, machine) => sortedBy(list, list.map(call), machine, at))
}

function overEach(
  run: (list: List, call: (value: Value) => Value, at: number, machine: Machine) => Value
): Method<List> {
  return method(1, 1, (list, args, machine, at) => {
    const { call } = functionArg(args, 0)
    machine.allocate(16 + 8 * list.length)
    machine.charge(list.length)
    return run(list, value => call([value], at), at, machine)
  })
}

function appended(list: List, args: readonly Value[], machine: Machine): Value {
  return [...copied(machine, list), args[0] as Value]
}

/** Charges the memory and the steps of a copy, which the caller makes. */
function copied(machine: Machine, list: List): List {
  machine.allocate(16 + 8 * list.length)
  machine.charge(list.length >> 6)
  return list
}

function fromEnd(list: List, index: number): number {
  return index < 0 ? list.length + index : index
}

function optional(value: Value | undefined): Value {
  return value === undefined ? NONE : some(value)
}
