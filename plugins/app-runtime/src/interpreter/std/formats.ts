import { parse as parseCsv } from 'csv-parse/sync'
import { stringify as renderCsv } from 'csv-stringify/sync'
import { parse as parseToml, stringify as renderToml, TomlDate } from 'smol-toml'
import { Lexer, Parser, parse as parseYaml, stringify as renderYaml } from 'yaml'
import { parseJson, printJson } from '../../wire/json-text.ts'
import { display } from '../display.ts'
import { isObject } from '../json.ts'
import { listArg, type Native, native, textArg } from '../native.ts'
import { toJson } from '../to-json.ts'
import { error, isList, Json, ok, type Value } from '../value.ts'

/** A text format for data. Both functions throw an error that describes the problem. */
export interface Format {
  readonly name: string
  parse(text: string): unknown
  render(data: unknown): string
}

const JSON_FORMAT: Format = { name: 'JSON', parse: parseJson, render: printJson }

const TOML: Format = {
  name: 'TOML',
  parse: text => plain(parseToml(text, { integersAsBigInt: 'asNeeded' })),
  render: data => {
    if (!isObject(data)) throw new Error('the value is not a record')
    return renderToml(data)
  }
}

/** Collections of YAML inside each other. The library recurses, and ends the process where it runs out of stack. */
const MAX_YAML_DEPTH = 100

function checkDepth(text: string): void {
  const parser = new Parser()
  for (const lexeme of new Lexer().lex(text)) {
    for (const _ of parser.next(lexeme)) {
      // Tokens are not needed here.
    }
    if (parser.stack.length > MAX_YAML_DEPTH) throw new Error(`more than ${MAX_YAML_DEPTH} levels of collections`)
  }
}

const YAML: Format = {
  name: 'YAML',
  // The library rejects more aliases, which could expand a short document to a huge value.
  parse(text) {
    checkDepth(text)
    return plain(parseYaml(text, { schema: 'core', maxAliasCount: 100 }))
  },
  render: data => renderYaml(data)
}

/** CSV whose first line names the fields. */
const CSV: Format = {
  name: 'CSV',
  parse: text => parseCsv(text, { columns: true, skip_empty_lines: true, bom: true, relax_column_count: true }),
  render: data => {
    if (!Array.isArray(data)) throw new Error('the value is not a list')
    return renderCsv(data, { header: data.length > 0 && isObject(data[0]) })
  }
}

/** Formats by file extension. */
export const FORMATS: ReadonlyMap<string, Format> = new Map([
  ['.json', JSON_FORMAT],
  ['.toml', TOML],
  ['.yaml', YAML],
  ['.yml', YAML],
  ['.csv', CSV]
])

/** Functions of CSV, TOML and YAML. */
export const FORMAT_FUNCTIONS: Readonly<Record<string, Native>> = {
  'std.csv.parse': native(1, 1, (args, machine) => {
    const text = textArg(args, 0)
    machine.allocate(8 * text.length)
    return read('CSV', () => parseCsv(text, { skip_empty_lines: true, bom: true, relax_column_count: true }))
  }),
  'std.csv.parse_records': parsing(CSV),
  'std.csv.render': native(1, 1, (args, machine) => {
    const rows = listArg(args, 0).map(row => (isList(row) ? row.map(display) : [display(row)]))
    return written('CSV', machine, () => renderCsv(rows))
  }),
  'std.toml.parse': parsing(TOML),
  'std.toml.render': rendering(TOML),
  'std.yaml.parse': parsing(YAML),
  'std.yaml.render': rendering(YAML)
}

function parsing({ name, parse }: Format): Native {
  return native(1, 1, (args, machine) => {
    const text = textArg(args, 0)
    machine.allocate(8 * text.length)
    return read(name, () => parse(text))
  })
}

function rendering({ name, render }: Format): Native {
  return native(1, 1, ([value = null], machine) => written(name, machine, () => render(toJson(value))))
}

/** Returns `Ok` with the parsed value, or `Error` with the parse error. */
export function read(name: string, parse: () => unknown): Value {
  try {
    return ok(new Json(parse()))
  } catch (cause) {
    return error(`invalid ${name}: ${(cause as Error).message}`)
  }
}

function written(name: string, machine: { allocate(bytes: number): void }, render: () => string): Value {
  let text: string
  try {
    text = render()
  } catch (cause) {
    return error(`the value cannot be written as ${name}: ${(cause as Error).message}`)
  }
  machine.allocate(2 * text.length)
  return ok(text)
}

/** Converts dates to ISO strings, and objects to ones without a prototype. */
function plain(data: unknown): unknown {
  if (data instanceof TomlDate) return data.toISOString()
  if (data instanceof Date) return data.toISOString()
  if (Array.isArray(data)) return data.map(plain)
  if (!isObject(data)) return data ?? null
  return Object.assign(
    Object.create(null),
    Object.fromEntries(Object.entries(data).map(([key, value]) => [key, plain(value)]))
  )
}
