import { readFileSync, writeFileSync } from 'node:fs'
import { extname } from 'node:path'
import { type Native, native, textArg } from '../native.ts'
import { toJson } from '../to-json.ts'
import { error, ok, type Value } from '../value.ts'
import { FORMATS, type Format, read } from './formats.ts'

/** Functions of data files, whose extension determines the format. */
export const DATA_FILES: Readonly<Record<string, Native>> = {
  'std.io.open': native(
    1,
    1,
    (args, machine) =>
      withFormat(textArg(args, 0), (path, { name, parse }) => {
        const text = readFileSync(path, 'utf8')
        machine.allocate(8 * text.length)
        const data = read(name, () => parse(text))
        return data
      }),
    'fs'
  ),
  'std.io.save': native(
    2,
    2,
    args =>
      withFormat(textArg(args, 0), (path, { render }) => {
        const text = render(toJson(args[1] ?? null))
        writeFileSync(path, text.endsWith('\n') ? text : `${text}\n`)
        return ok(null)
      }),
    'fs'
  )
}

function withFormat(path: string, use: (path: string, format: Format) => Value): Value {
  const format = FORMATS.get(extname(path).toLowerCase())
  if (format === undefined) return error(`${path}: unknown extension; use one of ${[...FORMATS.keys()].join(' ')}`)
  try {
    return use(path, format)
  } catch (cause) {
    return error((cause as Error).message)
  }
}
