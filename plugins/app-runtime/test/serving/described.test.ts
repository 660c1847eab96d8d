import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import t from 'tap'
import { randomFrom } from '../../../compiler/test/mutated-source.ts'
import { type App, serveApp } from './served-app.ts'

const SOURCE = `
type Point { x: int
    y: int = 7 }

type Shape =
    | Circle(center: Point, radius: float)
    | Named(name: str, of: List[Shape])
    | Nothing

type Pair[A, B] { first: A
    second: B }

@table
type Note { text: str
    stars: int = 0
    price: Option[dec]
    shape: Shape }

@query
fn numbers(a: int, b: float, c: dec, d: bool = true) to (int, float, dec, bool) { (a, b, c, d) }

@query
fn texts(a: str, b: Option[str], of: List[str]) to Map[str, int] { { "a": a.len(), "of": of.len() } }

@query
fn shapes(shape: Shape, pair: Pair[Point, Option[Shape]]) to Pair[Shape, Point] { { first: shape, second: pair.first } }

@query
fn notes(limit: int = 10) to List[Note] {
    if limit < 0 { return [] }
    if limit > 1000 { return [] }
    db.Note.all().limit(limit)
}

@query
fn untold(a: int) { if a > 0 { [a] } else { [] } }

@mutation
fn add(text: str, price: Option[dec], shape: Shape) to Result[Id[Note]] {
    if text.len() > 5 { return Error("the text is too long") }
    db.Note.insert({ text: text, price: price, shape: shape })
}

@server
fn divide(a: int, b: int) to int { a / b }

@server
fn nothing() to Unit { Unit }

http get "/items/:id"(id: int, limit: int = 10, q: Option[str], exact: bool = false) to List[str] { [str(id), str(limit)] }
http post "/points"(point: Point) to Point { point }
http put "/pairs/:name"(name: str, a: int, b: Option[str]) to str { name + str(a) }
http post "/raw" to str { request.text() }
http delete "/items/:id"(id: int) to Result[Unit] { if id > 5 { Error("no such item") } else { Ok(Unit) } }
`

interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema | false
  readonly prefixItems?: readonly Schema[]
  readonly additionalProperties?: Schema | false
  readonly pattern?: string
}

interface Content {
  readonly content: Readonly<Record<string, { readonly schema: Schema }>>
}

interface Operation {
  readonly operationId: string
  readonly parameters?: readonly (Partial<Content> & {
    readonly name: string
    readonly in: 'path' | 'query'
    readonly required: boolean
    readonly schema?: Schema
  })[]
  readonly requestBody?: Content & { readonly required: boolean }
  readonly responses: Readonly<Record<string, Content>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

let app: App
let document: Document
t.before(async () => {
  app = await serveApp(t as never, SOURCE)
  document = (await app.get('/openapi.json')).body as Document
})

/** Generates a value of a schema. Deep values use the last alternative, which is not recursive. */
class Values {
  readonly #random: () => number

  constructor(random: () => number) {
    this.#random = random
  }

  of(schema: Schema, depth = 0): unknown {
    if (schema.$ref !== undefined)
      return this.of(document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}, depth)
    if (schema.const !== undefined) return schema.const
    const choices = schema.anyOf ?? schema.oneOf
    if (choices !== undefined) return this.of((depth > 3 ? choices.at(-1) : this.pick(choices)) as Schema, depth + 1)
    switch (schema.type) {
      case 'integer':
        return this.pick([0, 1, -1, 7, 4096, -2_147_483_649])
      case 'number':
        return this.pick([0, 0.5, -1.25, 1e10])
      case 'boolean':
        return this.pick([true, false])
      case 'null':
        return null
      case 'string':
        return schema.pattern === undefined
          ? this.pick(['', 'a', 'ä b&c=d', '1', 'true', '{"a":1}'])
          : this.pick(['0', '-1.50'])
      case 'array':
        return (
          schema.prefixItems?.map(each => this.of(each, depth + 1)) ??
          Array.from({ length: Math.floor(this.#random() * 3) }, () =>
            this.of((schema.items || {}) as Schema, depth + 1)
          )
        )
      case 'object':
        return this.#object(schema, depth)
      default:
        return this.pick([null, 1, 'a', [1], { a: 1 }])
    }
  }

  pick<A>(choices: readonly A[]): A {
    return choices[Math.floor(this.#random() * choices.length)] as A
  }

  #object({ properties = {}, required = [] }: Schema, depth: number): Record<string, unknown> {
    const chosen = Object.entries(properties).filter(([name]) => required.includes(name) || this.#random() < 0.5)
    return Object.fromEntries(chosen.map(([name, schema]) => [name, this.of(schema, depth + 1)]))
  }
}

interface Sent {
  readonly path: string
  readonly init: RequestInit
}

const JSON_TYPE = 'application/json'

/** Generates a documented request, with the arguments that `change` replaces. */
function requestFor(
  path: string,
  method: string,
  { parameters = [], requestBody }: Operation,
  values: Values,
  change: (value: unknown, where: string) => unknown = value => value
): Sent {
  let target = path
  const query: string[] = []
  for (const { name, in: where, required, schema, content } of parameters) {
    if (!required && values.pick([true, false])) continue
    const value = change(values.of(schema ?? content?.[JSON_TYPE]?.schema ?? {}), name)
    if (value === undefined || (schema !== undefined && value === null)) continue
    const text = schema === undefined || typeof value === 'object' ? JSON.stringify(value) : String(value)
    if (where === 'path') target = target.replace(`{${name}}`, encodeURIComponent(text === '' ? 'x' : text))
    else query.push(`${name}=${encodeURIComponent(text)}`)
  }
  const described = requestBody?.content[JSON_TYPE]?.schema ?? requestBody?.content['*/*']?.schema
  const body = described === undefined ? undefined : JSON.stringify(change(values.of(described), 'body'))
  const headers = body === undefined ? {} : { 'content-type': JSON_TYPE }
  const init = { method: method.toUpperCase(), headers, ...(body === undefined ? {} : { body }) }
  return { path: query.length === 0 ? target : `${target}?${query.join('&')}`, init }
}

/** Validates a response against its documented schema. Returns the status, and the problem or null. */
class Declared {
  readonly #ajv = new Ajv2020({ strict: false, logger: false })
  readonly #known = new Map<string, ValidateFunction>()

  constructor() {
    this.#ajv.addSchema({ $id: 'https://svc.invalid/openapi', ...document })
  }

  async wrong(
    { path, init }: Sent,
    { operationId, responses }: Operation,
    template: string
  ): Promise<[number, string | null]> {
    const response = await fetch(app.app + path, init)
    const text = await response.text()
    const { status } = response
    const name = responses[status] === undefined ? 'default' : String(status)
    const type = response.headers.get('content-type') ?? ''
    const summary = `${operationId}: ${init.method} ${path} ${init.body ?? ''} -> ${status} ${text.slice(0, 200)}`
    if (!type.startsWith(JSON_TYPE)) return [status, `${summary}: ${type}`]
    const key = `${operationId} ${name}`
    const pointer = [
      'paths',
      template,
      (init.method ?? '').toLowerCase(),
      'responses',
      name,
      'content',
      JSON_TYPE,
      'schema'
    ]
    const ref = pointer.map(each => encodeURIComponent(each.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')
    const known = this.#known.get(key) ?? this.#ajv.compile({ $ref: `https://svc.invalid/openapi#/${ref}` })
    this.#known.set(key, known)
    return known(JSON.parse(text)) ? [status, null] : [status, `${summary}: ${this.#ajv.errorsText(known.errors)}`]
  }
}

function operations(): [path: string, method: string, operation: Operation][] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, string, Operation] => [path, method, operation])
  )
}

t.test('documented requests return documented responses', async t => {
  const values = new Values(randomFrom(7))
  const declared = new Declared()
  const seen = new Map<string, Set<number>>()
  for (const [path, method, operation] of operations()) {
    const statuses = new Set<number>()
    for (let turn = 0; turn < 16; turn++) {
      const [status, wrong] = await declared.wrong(requestFor(path, method, operation, values), operation, path)
      statuses.add(status)
      if (wrong !== null) t.fail(wrong)
      if (status === 400) t.fail(`${operation.operationId} is documented, but was rejected`)
    }
    seen.set(operation.operationId, statuses)
  }
  for (const [name, statuses] of seen) t.ok(statuses.has(200), `${name} returned ${[...statuses].join(', ')}`)
  t.ok(seen.get('divide')?.has(500), 'some responses were failures')
})

t.test('undocumented requests are rejected with documented responses', async t => {
  const values = new Values(randomFrom(11))
  const declared = new Declared()
  const JUNK = [undefined, null, 'x', '', -1.5, 1e300, true, [], [[]], {}, { _tag: 'None' }, { unknown: 1 }, 2 ** 63]
  let refusals = 0
  for (const [path, method, operation] of operations()) {
    for (let turn = 0; turn < 24; turn++) {
      const change = (value: unknown): unknown => {
        const junk = values.pick(JUNK)
        if (value === null || typeof value !== 'object' || Array.isArray(value) || values.pick([true, false]))
          return junk
        const members = Object.keys(value)
        return { ...value, [members.length === 0 ? 'more' : values.pick(members)]: junk }
      }
      const sent = requestFor(path, method, operation, values, change)
      const [status, wrong] = await declared.wrong(sent, operation, path)
      if (status === 400) refusals++
      if (wrong !== null) t.fail(wrong)
      t.ok(status === 200 || status === 400 || status === 500, `${sent.path} ${sent.init.body} -> ${status}`)
    }
  }
  t.ok(refusals > 80, `${refusals} requests were rejected`)
})

t.test('invalid and oversized bodies are rejected with documented responses', async t => {
  const declared = new Declared()
  const values = new Values(randomFrom(3))
  for (const [path, method, operation] of operations()) {
    if (operation.requestBody === undefined) continue
    const { path: target, init } = requestFor(path, method, operation, values)
    const takesAny = operation.requestBody.content['*/*'] !== undefined
    for (const [change, expected] of [
      [{ body: '{"a"', headers: { 'content-type': JSON_TYPE } }, 400],
      [{ body: 'a=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } }, 415],
      [{ body: `"${'x'.repeat(2 ** 21)}"`, headers: { 'content-type': JSON_TYPE } }, 413]
    ] as const) {
      const sent = { path: target, init: { ...init, ...change } }
      const [status, wrong] = await declared.wrong(sent, operation, path)
      const isTaken = takesAny && expected !== 413
      t.equal(status, isTaken ? 200 : expected, `${operation.operationId} ${expected}`)
      t.equal(wrong, null)
      if (!isTaken) t.ok(operation.responses[status], `${operation.operationId} declares ${status}`)
    }
  }
})
