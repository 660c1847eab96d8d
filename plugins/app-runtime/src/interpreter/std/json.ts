import { parseJson, printJson } from '../../wire/json-text.ts'
import { isObject, jsonValue } from '../json.ts'
import { type Native, native, textArg } from '../native.ts'
import { toJson } from '../to-json.ts'
import { error, Float, Json, ok, type Value } from '../value.ts'

const write = native(1, 1, ([value = null], machine) => {
  const text = printJson(toJson(value))
  machine.allocate(2 * text.length)
  return text
})

export const JSON_FUNCTIONS: Readonly<Record<string, Native>> = {
  'std.json.parse': native(1, 1, (args, machine) => {
    const text = textArg(args, 0)
    machine.allocate(8 * text.length)
    return parsed(text, data => ok(new Json(data)))
  }),
  'std.json.read_str': native(2, 2, args => {
    return at(args, found => (typeof found === 'string' ? ok(found) : error(`${args[1]} is not a str`)))
  }),
  'std.json.read_f64': native(2, 2, args => {
    return at(args, found => (isNumber(found) ? ok(new Float(Number(found))) : error(`${args[1]} is not a number`)))
  }),
  'std.json.quote': native(1, 1, args => JSON.stringify(textArg(args, 0))),
  'std.json.stringify': write,
  'std.json.encode': write,
  'std.json.value': native(1, 1, ([value = null]) => jsonValue(toJson(value)))
}

function parsed(text: string, use: (data: unknown) => Value): Value {
  let data: unknown
  try {
    data = parseJson(text)
  } catch (cause) {
    return error(`invalid JSON: ${(cause as Error).message}`)
  }
  return use(data)
}

/** Reads the value at a path of keys and indexes, joined by dots. */
function at(args: readonly Value[], use: (found: unknown) => Value): Value {
  const path = textArg(args, 1)
  return parsed(textArg(args, 0), data => {
    let found = data
    for (const name of path.split('.')) {
      if (Array.isArray(found)) found = found[Number(name)]
      else found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined
      if (found === undefined) return error(`the JSON has no ${path}`)
    }
    return use(found)
  })
}

function isNumber(data: unknown): data is number | bigint {
  return typeof data === 'number' || typeof data === 'bigint'
}
