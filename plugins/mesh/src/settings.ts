import { type Infer, t } from '@svc/plugin-sdk'

const flag = (variable: string, byDefault: boolean, description: string) =>
  t.boolean({ default: byDefault, 'x-env': variable, 'x-env-type': 'truthy', description })

const token = (variable: string, description: string) =>
  t.optional(t.secret({ minLength: 1, pattern: '^\\S+$', 'x-env': variable, description }))

export const settings = t.object(
  {
    enabled: flag('SVC_MESH_ENABLED', false, 'Whether this machine belongs to a mesh, and publishes itself at start.'),
    control_url: t.optional(
      t.string({
        minLength: 1,
        'x-env': 'SVC_MESH_CONTROL_ADDR',
        description: 'Base URL of the control plane, or several with commas. Default: that of svc mesh join.'
      })
    ),
    inference_base_url: t.optional(
      t.string({ pattern: '^https?://', description: 'Base URL of a model server for tasks of the orchestrator.' })
    ),
    scope_id: t.optional(
      t.string({
        minLength: 1,
        maxLength: 128,
        pattern: '^[^\\u0000-\\u001f\\u007f]+$',
        'x-env': 'SVC_MESH_SCOPE_ID',
        'x-aliases': ['scope'],
        description: 'Tenant of the mesh. Nodes and control plane must have the same one.'
      })
    ),
    labels: t.array(t.string({ minLength: 1, maxLength: 256 }), {
      default: [],
      maxItems: 256,
      'x-env': 'SVC_MESH_LABELS',
      description: 'Labels of this machine, such as gpu-pool or workload=train.'
    }),
    node_id: t.optional(
      t.string({
        minLength: 1,
        maxLength: 256,
        pattern: '^[^\\u0000-\\u001f\\u007f]+$',
        'x-env': 'SVC_MESH_NODE_ID',
        description: 'Id of this machine. Default: a generated one, which is kept in the data folder.'
      })
    ),
    token: token('SVC_MESH_TOKEN', 'Bearer token with all rights. A mesh with one token needs only this one.'),
    worker_token: token('SVC_MESH_WORKER_TOKEN', 'Bearer token of workers: everything except a2a/deliver and admin.'),
    submitter_token: token('SVC_MESH_SUBMITTER_TOKEN', 'Bearer token for a2a/deliver only.'),
    admin_token: token('SVC_MESH_ADMIN_TOKEN', 'Bearer token of administrators: all rights.'),
    result_signing_key: t.optional(
      t.secret({
        minLength: 1,
        description: 'Private Ed25519 key with which this machine signs results: 64 hex digits, or base64 of 32 bytes.'
      })
    ),
    http_join: flag('SVC_MESH_HTTP_JOIN', true, 'Whether this machine joins the control plane.'),
    heartbeat_seconds: t.integer({
      default: 30,
      minimum: 0,
      maximum: 86_400,
      'x-env': 'SVC_MESH_HTTP_HEARTBEAT_SECS',
      description: 'Seconds between heartbeats; 0: join only.'
    }),
    max_stale_ms: t.integer({
      default: 0,
      minimum: 0,
      'x-env': 'SVC_MESH_MAX_STALE_MS',
      description: 'Age in milliseconds above which the status leaves nodes out; 0: no limit.'
    }),
    telemetry: flag('SVC_MESH_CODEX_TELEMETRY', false, 'Whether telemetry rows of the mesh are written.'),
    gpu_readiness_probe_off: flag(
      'SVC_MESH_GPU_READINESS_PROBE_OFF',
      false,
      'Whether the fields gpu_readiness_* of this machine stay empty.'
    ),
    reuse_keys_after_ack: t.boolean({
      default: false,
      description:
        'Whether an idempotency key may be used again once its message was acknowledged. Then a delayed retry can run a job twice.'
    })
  },
  { 'x-section': 'mesh', 'x-section-aliases': ['the service', 'populi'] }
)

export type Settings = Infer<typeof settings>
