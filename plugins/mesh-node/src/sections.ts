import type { MeshSettings, StatusSection } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import type { MeshClient } from './client.ts'
import { isNodeRecord } from './hints.ts'
import type { NodesPoll } from './nodes-poll.ts'
import type { Telemetry } from './telemetry.ts'

const SCHEMA_VERSION = 1
/** Nodes in the status. A larger mesh is shown by its number of nodes, and by `svc mesh status`. */
const MAX_SHOWN = 200

export interface SectionOptions {
  readonly client: MeshClient
  readonly settings: Pick<MeshSettings, 'maxStaleMs'>
  readonly poll: NodesPoll
  readonly telemetry: Telemetry
  readonly now?: () => number
}

/** Returns the section `mesh_snapshot`: the nodes of the mesh, read when the status is requested. Absent without a mesh. */
export function snapshotSection({ client, settings, telemetry, now = Date.now }: SectionOptions): StatusSection {
  return {
    key: 'mesh_snapshot',
    async read(signal) {
      if (!client.configured) return
      try {
        const { list } = await client.nodes(null, signal)
        const { maxStaleMs } = settings
        const nodes = (list?.nodes ?? []).filter(
          node => isNodeRecord(node) && (maxStaleMs === 0 || now() - node.last_seen_unix_ms <= maxStaleMs)
        )
        telemetry.record('orchestrator_status_snapshot', { ok: true, node_count: nodes.length })
        return {
          ok: true,
          schema_version: SCHEMA_VERSION,
          node_count: nodes.length,
          ...(nodes.length > MAX_SHOWN ? { truncated: true } : null),
          nodes: nodes.slice(0, MAX_SHOWN)
        }
      } catch (error) {
        telemetry.record('orchestrator_status_snapshot', { ok: false, node_count: 0 })
        return { ok: false, schema_version: SCHEMA_VERSION, node_count: 0, error: errorMessage(error) }
      }
    }
  }
}

/** Returns the section `mesh_federation_cache`: what the last poll of the nodes found. */
export function federationSection({ client, poll }: SectionOptions): StatusSection {
  return {
    key: 'mesh_federation_cache',
    read() {
      if (!client.configured) return
      const { last } = poll
      if (last === null) return { ok: false, control_url: client.url, polled_unix_ms: null, node_count: 0, nodes: [] }
      const { error, hints, ...facts } = last
      return {
        ok: error === null,
        control_url: client.url,
        ...facts,
        node_count: hints.length,
        nodes: hints.slice(0, MAX_SHOWN),
        ...(error === null ? null : { error })
      }
    }
  }
}
