import type { HirNamedField, HirParam, HirType, Program } from '@svc/contracts'
import { isOptional } from '../wire/type-schemas.ts'
import { type Endpoint, type EndpointRoute, endpointsOf } from './endpoints.ts'
import { answerOf, isPlain } from './program-openapi.ts'

const TRANSPORT = `export interface ClientOptions {
  /** Where the program answers. */
  readonly baseUrl?: string
  /** Sent with each call. */
  readonly headers?: Readonly<Record<string, string>>
  readonly fetch?: typeof globalThis.fetch
}

/** A call that was refused or failed. */
export class CallError extends Error {
  readonly status: number
  /** Stays the same from version to version. */
  readonly code: string
  /** Facts about it: of an argument its path, what was expected and what was found. */
  readonly details: unknown

  constructor(status: number, code: string, message: string, details: unknown) {
    super(message)
    this.name = 'CallError'
    this.status = status
    this.code = code
    this.details = details
  }
}

type Fields = Readonly<Record<string, unknown>>

/** Values as JSON each, sorted by their names. */
function jsonQuery(args: Fields): string {
  return query(args, value => JSON.stringify(value))
}

function textQuery(args: Fields): string {
  return query(args, value => (typeof value === 'object' ? JSON.stringify(value) : String(value)))
}

function query(args: Fields, print: (value: unknown) => string): string {
  const given = Object.entries(args).filter(([, value]) => value !== undefined && value !== null)
  const pairs = given
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => \`\${encodeURIComponent(name)}=\${encodeURIComponent(print(value))}\`)
  return pairs.length === 0 ? '' : \`?\${pairs.join('&')}\`
}

/** Calls the functions and routes of the program. */
export function createClient({ baseUrl = '', headers = {}, fetch = globalThis.fetch }: ClientOptions = {}) {
  async function call<A>(method: string, path: string, body?: unknown): Promise<A> {
    const response = await fetch(baseUrl + path, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await response.text()
    let answer: unknown
    try {
      answer = JSON.parse(text)
    } catch {
      throw new CallError(response.status, 'NO_JSON', \`\${method} \${path} did not answer with JSON\`, text)
    }
    if (response.ok) return answer as A
    const { error, code, details } = (answer ?? {}) as { error?: unknown; code?: unknown; details?: unknown }
    const message = typeof error === 'string' ? error : \`\${method} \${path} answered with \${response.status}\`
    throw new CallError(response.status, typeof code === 'string' ? code : 'FAILED', message, details)
  }
`

/** A client of the program in one TypeScript file, without dependencies. Whole numbers beyond 2^53 lose digits in it. */
export function programClient({ module, path, defaults }: Program): string {
  const names = new Names(module)
  const types = [
    ...module.tables.map(({ name, fields }) => {
      const columns = fields.map(field => [field.name, field.type_ann] as const)
      return names.record(name, [], [['_id', { Named: 'int' }], ...columns], new Set())
    }),
    ...module.types.map(({ name, generics = [], alias, variants, fields = [] }) => {
      if (alias !== undefined) return `export type ${names.declared(name, generics)} = ${names.print(alias)}\n`
      if (variants.length > 0) return names.choice(name, generics, variants)
      const optional = defaults.filter(({ type }) => type === name).map(({ field }) => field)
      return names.record(name, generics, fields, new Set(optional))
    })
  ]
  const calls = endpointsOf(module).flatMap(endpoint => {
    return endpoint.route === null ? [] : [callOf(endpoint, endpoint.route, names)]
  })
  const file = path.split(/[\\/]/).at(-1) ?? path
  return [
    `// A client of ${file}. Generated; do not edit.\n`,
    ...types,
    TRANSPORT,
    `  return {\n${calls.join(',\n')}\n  }\n}\n`
  ].join('\n')
}

function callOf(endpoint: Endpoint, { method, path, inPath }: EndpointRoute, names: Names): string {
  const params = endpoint.params.filter(({ name }) => name !== 'request')
  const rest = params.filter(({ name }) => !inPath.includes(name))
  const answer = `Promise<${names.print(answerOf(endpoint.returns))}>`
  const isFree = params.every(param => param.default !== null || isOptional(param.type_ann))
  const members = params.map(
    param => `${key(param.name)}${isFreeParam(param) ? '?' : ''}: ${names.print(param.type_ann)}`
  )
  const takesBody = endpoint.kind === 'route' && (method === 'POST' || method === 'PUT') && rest.length === 0
  const args = params.length === 0 ? [] : [`args: { ${members.join('; ')} }${isFree ? ' = {}' : ''}`]
  const taken = [...args, ...(takesBody ? ['body?: unknown'] : [])].join(', ')
  const target = path.replace(/:(\w+)/g, (_, name: string) => `\${encodeURIComponent(String(args.${name}))}`)
  const address = inPath.length === 0 ? `'${path}'` : `\`${target}\``
  const member = endpoint.kind === 'route' ? `'${endpoint.name}'` : key(endpoint.name)
  const call = `call('${method}', ${addressOf(endpoint, method, address, rest)}${bodyOf(endpoint, method, rest, takesBody)})`
  return `    ${member}: (${taken}): ${answer} => ${call}`
}

function addressOf({ kind }: Endpoint, method: string, address: string, rest: readonly HirParam[]): string {
  if (rest.length === 0 || method === 'POST' || method === 'PUT') return address
  return `${address} + ${kind === 'query' ? 'json' : 'text'}Query(${fields(rest)})`
}

function bodyOf({ kind }: Endpoint, method: string, rest: readonly HirParam[], takesBody: boolean): string {
  if (takesBody) return ', body'
  if (method !== 'POST' && method !== 'PUT') return ''
  const [only] = rest
  if (kind === 'route' && rest.length === 1 && only !== undefined && !isPlain(only.type_ann)) {
    return `, args.${only.name}`
  }
  return `, ${fields(rest)}`
}

function fields(params: readonly HirParam[]): string {
  return params.length === 0 ? '{}' : `{ ${params.map(({ name }) => `${key(name)}: args.${name}`).join(', ')} }`
}

function isFreeParam(param: HirParam): boolean {
  return param.default !== null || isOptional(param.type_ann)
}

function key(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name)
}

/** Names that the file has for itself, or that TypeScript does. */
const TAKEN: ReadonlySet<string> = new Set([
  'ClientOptions',
  'CallError',
  'Error',
  'Fields',
  'Promise',
  'Readonly',
  'Record',
  'Array'
])

const PLAIN: Readonly<Record<string, string>> = {
  int: 'number',
  Id: 'number',
  float: 'number',
  str: 'string',
  char: 'string',
  dec: 'string',
  bool: 'boolean',
  unit: 'null',
  Unit: 'null'
}

/** How types are written in TypeScript. */
class Names {
  readonly #declared: ReadonlySet<string>

  constructor({ types, tables }: Program['module']) {
    this.#declared = new Set([...types, ...tables].map(({ name }) => name))
  }

  declared(name: string, generics: readonly string[]): string {
    const own = TAKEN.has(name) ? `${name}_` : name
    return generics.length === 0 ? own : `${own}<${generics.join(', ')}>`
  }

  record(
    name: string,
    generics: readonly string[],
    members: readonly HirNamedField[],
    optional: ReadonlySet<string>
  ): string {
    const lines = members.map(each => `  ${this.#member(each, optional)}\n`)
    return `export interface ${this.declared(name, generics)} {\n${lines.join('')}}\n`
  }

  choice(name: string, generics: readonly string[], variants: Program['module']['types'][number]['variants']): string {
    const forms = variants.map(variant => {
      const members = [`_tag: '${variant.name}'`, ...variant.fields.map(each => this.#member(each, new Set()))]
      return `  | { ${members.join('; ')} }\n`
    })
    return `export type ${this.declared(name, generics)} =\n${forms.join('')}`
  }

  #member([name, type]: HirNamedField, optional: ReadonlySet<string>): string {
    return `${key(name)}${isOptional(type) || optional.has(name) ? '?' : ''}: ${this.print(type)}`
  }

  print(type: HirType | null): string {
    if (type === null) return 'unknown'
    if (type === 'Unit') return 'null'
    if (type === 'Decimal') return 'string'
    if ('Function' in type) return 'unknown'
    if ('Tuple' in type) return `[${type.Tuple.map(each => this.print(each)).join(', ')}]`
    const [name, args] = 'Named' in type ? [type.Named, []] : type.Generic
    if (this.#declared.has(name))
      return this.declared(
        name,
        args.map(each => this.print(each))
      )
    const [first = null, second = null] = args
    switch (name) {
      case 'List':
      case 'list':
      case 'Set':
        return `Array<${this.print(first)}>`
      case 'Tensor':
        return 'Array<number>'
      case 'Option':
        return `${this.print(first)} | null`
      case 'Result':
        return `{ _tag: 'Ok'; value: ${this.print(first)} } | { _tag: 'Err'; value: ${second === null ? 'string' : this.print(second)} }`
      case 'Map':
      case 'map':
        return `Record<string, ${this.print(second)}>`
      default:
        // Parameters of a generic type stay what they are.
        return PLAIN[name] ?? (/^[A-Z]$/.test(name) ? name : 'unknown')
    }
  }
}
