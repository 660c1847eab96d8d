import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { parse } from 'yaml'
import { Planes } from '#root'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const folder = join(ROOT, 'contracts', 'communication')

interface Family {
  readonly id: string
  readonly status: string
  readonly machine_contract_paths: readonly string[]
  readonly prose_reference_paths: readonly string[]
  readonly primary_implementation_paths: readonly string[]
  readonly telemetry_evidence_paths: readonly string[]
}

const schema = JSON.parse(readFileSync(join(folder, 'protocol-catalog.schema.json'), 'utf8'))
const catalog = parse(readFileSync(join(folder, 'protocol-catalog.yaml'), 'utf8')) as {
  readonly planes: readonly { readonly id: string; readonly legacy_route_token: string | null }[]
  readonly protocol_families: readonly Family[]
}

t.test('the catalog matches its schema', async t => {
  const validate = new Ajv2020({ allErrors: true }).compile(schema)
  validate(catalog)
  t.same(validate.errors ?? [], [])
})

t.test('the catalog lists the planes and routes of the bus', async t => {
  const planes = new Planes(() => [])
  for (const { id, legacy_route_token } of catalog.planes) t.equal(planes.routeOf(id), legacy_route_token, id)
  t.equal(catalog.planes.length, 5)
})

t.test('the catalog lists each protocol family once, and all its paths exist', async t => {
  const families = catalog.protocol_families
  t.same(
    families.map(({ id }) => id),
    [
      'mcp-stdio',
      'mcp-http-gateway',
      'mesh-control-plane',
      'mesh-a2a-relay',
      'orchestrator-local-a2a',
      'orchestrator-db-inbox',
      'orchestrator-persistence-outbox',
      'repo-reconstruction-campaign',
      'runtime-sse',
      'dei-json-line-rpc',
      'orchestrator-json-line-rpc',
      'lsp-json-rpc',
      'external-gateway-websocket'
    ]
  )
  for (const family of families) {
    const paths = [
      ...family.machine_contract_paths,
      ...family.prose_reference_paths,
      ...family.primary_implementation_paths,
      ...family.telemetry_evidence_paths
    ]
    t.same(
      paths.filter(path => !existsSync(join(ROOT, path))),
      [],
      family.id
    )
    t.equal(
      family.primary_implementation_paths.length > 0,
      family.status === 'live',
      `${family.id} is ${family.status}`
    )
  }
})
