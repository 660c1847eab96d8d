import { join } from 'node:path'
import {
  LEGACY_MESH_PATH,
  MESH_FEATURES,
  MESH_PATH,
  nodeCapabilities,
  nodeRecord,
  nodeReport,
  remoteTaskAck,
  remoteTaskCancel,
  remoteTaskEnvelope,
  remoteTaskPayload,
  remoteTaskResult,
  viewBody
} from '@svc/contracts'
import { type JsonSchema, t } from '@svc/plugin-sdk'
import { stringify } from 'yaml'
import { controlRoutes, type MeshRoute, viewRoutes } from '#root'

/** Folder of the published files. */
export const FOLDER = join(import.meta.dirname, '..', '..', '..', 'contracts', 'mesh')

const integer = t.integer({ minimum: 0 })
const execLease = t.object({
  lease_id: t.string({ description: 'Fence of the lease, in decimal.' }),
  scope_key: t.string(),
  holder_node_id: t.string(),
  expires_unix_ms: integer
})
const meshMessage = t.object(
  {
    id: t.integer({ minimum: 1 }),
    sender_agent_id: t.string(),
    receiver_agent_id: t.string(),
    message_type: t.string(),
    payload: t.string(),
    priority: t.integer({ minimum: 0, maximum: 255 }),
    created_unix_ms: integer,
    acknowledged: t.boolean(),
    lease_holder_node_id: t.optional(t.string()),
    lease_expires_unix_ms: t.optional(integer),
    idempotency_dedupe_key: t.optional(t.string()),
    fence: t.optional(t.integer({ minimum: 0, description: 'Extension: fence of the claim.' })),
    attempts: t.optional(t.integer({ minimum: 0, description: 'Extension: number of claims.' }))
  },
  { additionalProperties: true, description: 'A message in a mailbox, with the fields that were delivered.' }
)
const inbox = t.object({ messages: t.array(meshMessage) })
const nodeList = t.object(
  {
    schema_version: t.integer({ minimum: 1, maximum: 1 }),
    nodes: t.array(nodeRecord),
    queue_depth: t.optional(integer),
    version: t.optional(t.integer({ minimum: 0, description: 'Extension: version of the list, for since.' })),
    complete: t.optional(t.boolean({ description: 'Extension: false if only changes are listed.' })),
    removed: t.optional(t.array(t.string())),
    stale: t.optional(t.array(t.string(), { description: 'Extension: nodes that were not seen for stale_ms.' })),
    count: t.optional(
      t.integer({ minimum: 0, description: 'Extension: with since, number of all nodes of the version.' })
    )
  },
  { additionalProperties: true }
)

/** Schemas of the API description that are used more than once. */
const NAMED: readonly (readonly [string, JsonSchema])[] = [
  ['NodeRecord', nodeRecord],
  ['NodeReport', nodeReport],
  ['NodeCapabilities', nodeCapabilities],
  ['Message', meshMessage],
  ['Inbox', inbox],
  ['ExecLease', execLease]
]

interface Answers {
  readonly ok: number
  readonly schema?: JsonSchema
  /** Statuses of refusals, except those of every route. */
  readonly refusals: readonly number[]
}

const empty = (...refusals: number[]): Answers => ({ ok: 204, refusals })
const answer = (schema: JsonSchema, ...refusals: number[]): Answers => ({ ok: 200, schema, refusals })

/** Answers of each route. */
const ANSWERS: Readonly<Record<string, Answers>> = {
  '/nodes': answer(nodeList, 304),
  '/join': answer(nodeRecord),
  '/heartbeat': answer(nodeRecord),
  '/leave': empty(404),
  '/bootstrap/exchange': answer(t.object({ mesh_token: t.string(), scope_id: t.optional(t.string()) }), 404, 410),
  '/a2a/deliver': answer(t.object({ accepted: t.boolean(), message_id: t.integer({ minimum: 1 }) })),
  '/a2a/inbox': answer(inbox),
  '/a2a/ack': empty(404, 409),
  '/a2a/lease-renew': empty(404, 409),
  '/x/a2a/extend': empty(404, 409),
  '/x/a2a/nack': empty(404, 409),
  '/x/a2a/dead': answer(inbox),
  '/x/a2a/revive': answer(t.object({ revived: integer })),
  '/exec/lease/grant': answer(execLease, 409),
  '/exec/lease/renew': empty(404, 409),
  '/exec/lease/release': empty(404, 409),
  '/exec/leases': answer(t.object({ leases: t.array(execLease) })),
  '/admin/exec-lease/revoke': empty(404),
  '/admin/quarantine': empty(404),
  '/admin/maintenance': empty(404),
  'POST /x/views': empty(),
  'GET /x/views': answer(t.object({ views: t.array(viewBody) })),
  '/x/pair': answer(t.object({ bootstrap_token: t.string(), expires_unix_ms: integer }))
}

const MEANINGS: Readonly<Record<number, string>> = {
  200: 'It was done.',
  204: 'It was done.',
  304: 'The list is the one that If-None-Match names.',
  400: 'A field is missing or wrong; the text names it.',
  401: 'The bearer is missing, unknown, expired or used.',
  403: 'The role, the scope or the state of the node does not allow it.',
  404: 'The node, message, lease or token does not exist.',
  409: 'Another node holds it, or the claim has passed on.',
  410: 'The token was used, or has expired.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  429: 'The client sent too many requests, or too many wrong tokens.',
  503: 'The store does not respond, or something is not configured.'
}

/** Returns the routes of a control plane. They use their parts only when they run. */
export function allRoutes(): readonly MeshRoute[] {
  return [...controlRoutes({} as never), ...viewRoutes({ scope: {} } as never)]
}

/** Returns the published files by name. */
export function contractFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  const schemas = {
    'node-record.v1': ['Record of a node, version 1', nodeRecord],
    'message.v1': ['Message of a mesh mailbox, version 1', meshMessage],
    'exec-lease.v1': ['Execution lease, version 1', execLease],
    'remote-task-envelope.v1': ['Remote task envelope, version 1', remoteTaskEnvelope],
    'remote-task-payload.v1': ['Payload of a remote task envelope, version 1', remoteTaskPayload],
    'remote-task-ack.v1': ['Acceptance of a remote task, version 1', remoteTaskAck],
    'remote-task-cancel.v1': ['Cancellation of a remote task, version 1', remoteTaskCancel],
    'remote-task-result.v1': ['Result of a remote task, version 1', remoteTaskResult]
  } as const
  for (const [name, [title, schema]] of Object.entries(schemas)) {
    const content = { $schema: 'https://json-schema.org/draft/2020-12/schema', title, ...plain(schema) }
    files.set(`${name}.schema.json`, `${JSON.stringify(content, null, 2)}\n`)
  }
  files.set('mesh-v1.openapi.yaml', stringify(openApi(), { lineWidth: 120, aliasDuplicateObjects: false }))
  return files
}

function openApi(): object {
  const paths: Record<string, object> = {
    '/health': {
      get: { summary: 'Check that the control plane responds', security: [], responses: { 200: { description: 'ok' } } }
    },
    '/ready': {
      get: {
        summary: 'Check that the control plane can serve',
        security: [],
        responses: {
          200: { description: 'It can.' },
          503: { description: 'It is stopping, or its store does not respond.' }
        }
      }
    }
  }
  for (const route of allRoutes()) {
    const path = MESH_PATH + route.path
    paths[path] = { ...paths[path], ...pathOf(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Control plane of a mesh',
      version: '1.0.0',
      description: [
        `Nodes, mailboxes and execution leases of a mesh. Every path is served below ${LEGACY_MESH_PATH} as well.`,
        'Refusals are plain text that begins with "mesh: ". Bodies are JSON; unknown fields are ignored, those of node',
        `records are kept. Responses have the headers x-request-id and x-populi-feature (${MESH_FEATURES.join(', ')}).`,
        'Paths below /x, and fields and parameters that are called extensions, are additions of this implementation.'
      ].join(' '),
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' }
    },
    servers: [{ url: 'http://127.0.0.1:9847', description: 'Default address of svc mesh serve.' }],
    security: [{ bearer: [] }],
    paths,
    components: {
      schemas: Object.fromEntries(NAMED.map(([name, schema]) => [name, referring(schema, true)])),
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A token of a role, or an HS256 JWT with the claims role, jti and exp that is used once. Roles: mesh and admin may call every route, worker every route but a2a/deliver and those of administrators, submitter only a2a/deliver.'
        }
      }
    }
  }
}

function pathOf({ method, path, summary, access, schema }: MeshRoute): object {
  const answers = ANSWERS[`${method} ${path}`] ?? ANSWERS[path]
  if (answers === undefined) throw new Error(`no answers are declared for ${path}`)
  const { ok, schema: body, refusals } = answers
  const own = method === 'POST' ? [400, 413, 415] : [400]
  const statuses = [...own, ...(access === null ? [401] : [401, 403]), ...refusals, 429, 503].sort((a, b) => a - b)
  const responses = Object.fromEntries(
    statuses.map(status => [status, { description: MEANINGS[status], ...(status === 304 ? {} : TEXT) }])
  )
  return {
    [method.toLowerCase()]: {
      operationId: `${method.toLowerCase()}_${path.slice(1).replaceAll(/[/-]/g, '_')}`,
      summary,
      ...(access === null ? { security: [] } : { 'x-access': access }),
      ...(PARAMETERS[path] === undefined || method !== 'GET' ? {} : { parameters: PARAMETERS[path] }),
      ...(schema === undefined ? {} : { requestBody: { required: true, content: json(schema) } }),
      responses: {
        [ok]: { description: MEANINGS[ok], ...(body === undefined ? {} : { content: json(body) }) },
        ...responses
      }
    }
  }
}

const TEXT = { content: { 'text/plain': { schema: { type: 'string' } } } }
const SINCE = {
  name: 'since',
  in: 'query',
  description: 'Extension: only changes after this version of the list.',
  schema: { type: 'integer', minimum: 0 }
}

const STALE = {
  name: 'stale_ms',
  in: 'query',
  description: 'Extension: with since, the answer lists the nodes that were not seen for so many milliseconds.',
  schema: { type: 'integer', minimum: 0 }
}

const REPOSITORY = {
  name: 'repository_id',
  in: 'query',
  required: true,
  description: 'Repository of the tasks.',
  schema: { type: 'string', minLength: 1 }
}
const PARAMETERS: Readonly<Record<string, readonly object[]>> = { '/nodes': [SINCE, STALE], '/x/views': [REPOSITORY] }

function json(schema: JsonSchema): object {
  return { 'application/json': { schema: referring(schema) } }
}

/** Returns a schema as plain JSON. */
function plain(schema: JsonSchema): object {
  return JSON.parse(JSON.stringify(schema)) as object
}

/** Returns a schema as plain JSON that refers to the named schemas. */
function referring(schema: unknown, isRoot = false): unknown {
  if (Array.isArray(schema)) return schema.map(each => referring(each))
  if (typeof schema !== 'object' || schema === null) return schema
  const name = isRoot ? undefined : NAMED.find(([, named]) => named === schema)?.[0]
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` }
  return Object.fromEntries(Object.entries(schema).map(([key, each]) => [key, referring(each)]))
}
