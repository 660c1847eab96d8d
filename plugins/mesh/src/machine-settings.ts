import {
  type KernelAdmin,
  type MeshAdvertisement,
  type MeshPlane,
  type MeshRole,
  type MeshSettings,
  normalizeControlUrls,
  parseMeshKey
} from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import type { MembershipFile } from './membership.ts'
import { storedNodeId } from './node-id.ts'
import type { Settings } from './settings.ts'

export interface MachineSettingsParts {
  readonly settings: () => Settings
  readonly membership: MembershipFile
  /** File with the generated id of this machine. */
  readonly nodeIdFile: string
  readonly admin: Pick<KernelAdmin, 'settings'> | undefined
}

/** Tokens that open a plane, the first one that is set. */
const TOKENS: Readonly<Record<MeshPlane, readonly MeshRole[]>> = {
  worker: ['mesh', 'worker', 'admin'],
  submit: ['mesh', 'submitter', 'admin'],
  admin: ['admin', 'mesh']
}

/** Default of `[orchestrator] stale_threshold_ms`. */
const DEFAULT_STALE_MS = 60_000

/** Settings of this machine, from the configuration, the settings of the orchestrator, and the joined mesh. */
export class MachineSettings implements MeshSettings {
  readonly #parts: MachineSettingsParts
  #nodeId: string | null = null

  constructor(parts: MachineSettingsParts) {
    this.#parts = parts
  }

  get #settings(): Settings {
    return this.#parts.settings()
  }

  get enabled(): boolean {
    return this.#settings.enabled
  }

  get controlUrls(): readonly string[] {
    const ofOrchestrator = this.#setting('orchestrator.mesh_control_url')
    const configured = (typeof ofOrchestrator === 'string' && ofOrchestrator.trim()) || this.#settings.control_url
    if (configured !== undefined) return normalizeControlUrls(configured)
    return this.#parts.membership.get()?.controlUrls ?? []
  }

  get inferenceBaseUrl(): string | null {
    return this.#settings.inference_base_url ?? null
  }

  get scopeId(): string | null {
    return this.#settings.scope_id ?? this.#parts.membership.get()?.scopeId ?? null
  }

  get labels(): readonly string[] {
    return this.#settings.labels
  }

  get nodeId(): string {
    return this.#settings.node_id ?? (this.#nodeId ??= storedNodeId(this.#parts.nodeIdFile))
  }

  get httpJoin(): boolean {
    return this.#settings.http_join
  }

  get heartbeatSeconds(): number {
    return this.#settings.heartbeat_seconds
  }

  get maxStaleMs(): number {
    return this.#settings.max_stale_ms
  }

  /** Age in milliseconds above which routing and the pages treat a node as stale. */
  get staleAfterMs(): number {
    const ofOrchestrator = this.#setting('orchestrator.stale_threshold_ms')
    return typeof ofOrchestrator === 'number' ? ofOrchestrator : DEFAULT_STALE_MS
  }

  get telemetry(): boolean {
    return this.#settings.telemetry
  }

  get gpuReadinessProbe(): boolean {
    return !this.#settings.gpu_readiness_probe_off
  }

  get reuseKeysAfterAck(): boolean {
    return this.#settings.reuse_keys_after_ack
  }

  get advertise(): MeshAdvertisement {
    const deviceClass = this.#setting('orchestrator.host_device_class')
    return {
      gpu: this.#setting('orchestrator.host_advertise_gpu') === true,
      vulkan: this.#setting('orchestrator.host_advertise_vulkan') === true,
      webgpu: this.#setting('orchestrator.host_advertise_webgpu') === true,
      npu: this.#setting('orchestrator.host_advertise_npu') === true,
      deviceClass: typeof deviceClass === 'string' ? deviceClass : null
    }
  }

  token(plane: MeshPlane): string | null {
    const tokens = this.roleTokens()
    const role = TOKENS[plane].find(each => tokens[each] !== undefined)
    return (role && tokens[role]) ?? null
  }

  roleTokens(): Readonly<Partial<Record<MeshRole, string>>> {
    const { token, worker_token, submitter_token, admin_token } = this.#settings
    return defined({
      mesh: token ?? this.#parts.membership.get()?.token ?? undefined,
      worker: worker_token,
      submitter: submitter_token,
      admin: admin_token
    })
  }

  resultSigningKey(): Uint8Array | null {
    const { result_signing_key } = this.#settings
    return result_signing_key === undefined ? null : parseMeshKey(result_signing_key, 'result_signing_key of [mesh]')
  }

  /** Returns the value of a setting of another plugin; undefined if that plugin does not exist. */
  #setting(key: string): unknown {
    return this.#parts.admin?.settings(key).find(setting => setting.key === key)?.value
  }
}
