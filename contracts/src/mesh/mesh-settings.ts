import { service } from '@svc/plugin-sdk'

/**
 * Settings of this machine in a mesh, after the environment, `[mesh]` and the legacy section were merged. Getters are
 * evaluated at each access, so that a change of settings takes effect without a reload of the consumer.
 */
export const meshSettings = service<MeshSettings>('mesh.settings@1')

export interface MeshSettings {
  /** Value of SVC_MESH_ENABLED: publishes this machine at start, and switches durable coordination hooks on. */
  readonly enabled: boolean
  /**
   * Normalised base URLs of control planes, to be tried in turn; empty without a mesh. From
   * SVC_ORCHESTRATOR_MESH_CONTROL_URL, else SVC_MESH_CONTROL_ADDR, else `[mesh] control_url`, else a joined mesh.
   */
  readonly controlUrls: readonly string[]
  /** Base URL of a model server in the mesh; null if not set. */
  readonly inferenceBaseUrl: string | null
  readonly scopeId: string | null
  readonly labels: readonly string[]
  /** SVC_MESH_NODE_ID, else a generated id that is kept in the data folder. */
  readonly nodeId: string
  /** False: never joins (SVC_MESH_HTTP_JOIN). */
  readonly httpJoin: boolean
  /** Seconds between heartbeats (SVC_MESH_HTTP_HEARTBEAT_SECS); 0: joins only. */
  readonly heartbeatSeconds: number
  /** Age in milliseconds above which nodes are left out of the status (SVC_MESH_MAX_STALE_MS); 0: no limit. */
  readonly maxStaleMs: number
  /** Whether telemetry rows are written (SVC_MESH_CODEX_TELEMETRY). */
  readonly telemetry: boolean
  /** False: the fields gpu_readiness_* stay empty (SVC_MESH_GPU_READINESS_PROBE_OFF). */
  readonly gpuReadinessProbe: boolean
  /** Advertised devices of this machine (SVC_MESH_ADVERTISE_*, SVC_MESH_DEVICE_CLASS). */
  readonly advertise: MeshAdvertisement
  /** Whether an idempotency key is free again once its message was acknowledged (`[mesh] reuse_keys_after_ack`). */
  readonly reuseKeysAfterAck: boolean
  /**
   * Returns the bearer token for a plane: `worker` for every call but those below, `submit` for `a2a/deliver`, `admin`
   * for admin routes and the list of exec leases. Null: no token is configured.
   */
  token(plane: MeshPlane): string | null
  /** Private Ed25519 key (32 bytes) with which results are signed; null: results are not signed. */
  resultSigningKey(): Uint8Array | null
  /** Configured tokens by role, for a control plane in this process. Roles without a token are absent. */
  roleTokens(): Readonly<Partial<Record<MeshRole, string>>>
}

/** Role of a caller of a control plane. `mesh` is the legacy role with all rights. */
export type MeshRole = 'mesh' | 'worker' | 'submitter' | 'admin'

export type MeshPlane = 'worker' | 'submit' | 'admin'

export interface MeshAdvertisement {
  readonly gpu: boolean
  readonly vulkan: boolean
  readonly webgpu: boolean
  readonly npu: boolean
  readonly deviceClass: string | null
}
