import { agentLabel, taskLabel } from '@svc/contracts'
import { otherLines } from '../status/orchestrator-status.ts'
import { eventLine } from './event-line.ts'
import { fit } from './fit.ts'
import type { AgentReport, Origin, Snapshot, StatusReport } from './snapshot.ts'

export interface FrameSize {
  readonly columns: number
  readonly rows: number
}

/** Mode of the view; `live` and `paused` show the available keys. */
export type FrameMode = 'plain' | 'live' | 'paused'

const AGENT_COLUMNS = ['agent', 'name', 'queued', 'works on', 'does', 'done', 'files', 'load'] as const
const WIDTHS = [6, 16, 7, 8, 17, 7, 6, 6] as const
/** Maximum number of other processes that are shown. */
const MAX_PROCESSES = 8
/** Number of lines above the agents, including their heading. */
const HEAD = 8

/** Renders the view as lines that fit the terminal's width and height. */
export function frame(snapshot: Snapshot, size: FrameSize, mode: FrameMode = 'plain'): string[] {
  const { status, events } = snapshot
  const lines = [headLine(snapshot, mode), ...stateLines(snapshot)]
  if (status !== null) {
    const others = otherLines(status.processes ?? []).slice(0, MAX_PROCESSES)
    lines.push(...others)
    const room = Math.max(1, size.rows - HEAD - others.length - Math.min(events.length, 5) - 2)
    lines.push('', agentHeading(), ...agentLines(status.agents, room))
  }
  const left = size.rows - lines.length - 2
  if (events.length > 0 && left > 0) {
    const last = events.slice(-left)
    lines.push('', ...last.map(({ timestamp_ms, kind }) => `${time(timestamp_ms)}  ${eventLine(kind)}`))
  }
  return lines.slice(0, size.rows).map(line => fit(line, size.columns).trimEnd())
}

const MODE_TEXTS: Readonly<Record<FrameMode, string>> = {
  plain: '',
  live: '  q quits, p pauses',
  paused: '  PAUSED (p continues)'
}

function headLine({ at_ms, origin, lost }: Snapshot, mode: FrameMode): string {
  const state = lost === null ? MODE_TEXTS[mode] : `  LOST: ${lost}`
  // The state comes before the origin, so that a narrow terminal still shows it.
  return `svc orch top  ${time(at_ms)}${state}  ${originText(origin)}`
}

function originText(origin: Origin): string {
  return origin.kind === 'daemon'
    ? `daemon at ${origin.address}, process ${origin.pid}`
    : 'no daemon runs; this is the orchestrator of this process only'
}

function stateLines({ status, rates }: Snapshot): string[] {
  if (status === null) return ['no status received yet']
  return [
    `${stateText(status)}, ${durabilityText(status)}`,
    `queued ${status.total_queued}  in progress ${status.total_in_progress}  blocked ${status.total_blocked}  ` +
      `for approval ${status.total_blocked_on_approval}  doubted ${status.total_doubted}  locked files ${status.locked_files}`,
    `completed ${status.total_completed}  failed ${status.total_failed}  cancelled ${status.total_cancelled}`,
    `per second: submitted ${rates.submitted}  completed ${rates.completed}  failed ${rates.failed}`
  ]
}

function stateText({ stopped, enabled }: StatusReport): string {
  return stopped ? 'STOPPED' : enabled ? 'running' : 'disabled'
}

function durabilityText({ durability, outbox }: StatusReport): string {
  const storage =
    durability.kind === 'database' ? `durable in ${durability.location}` : `in memory: ${durability.because}`
  if (outbox.failing !== null && outbox.pending === 0) return `${storage}, but tasks are rejected: ${outbox.failing}`
  if (outbox.failing !== null) return `${storage}, ${outbox.pending} changes wait: ${outbox.failing}`
  return outbox.pending === 0 ? storage : `${storage}, ${outbox.pending} changes pending`
}

function agentHeading(): string {
  return row(AGENT_COLUMNS)
}

/** Returns one line per agent; only the busiest ones if there is not enough room. */
function agentLines(agents: readonly AgentReport[], room: number): string[] {
  const busiest = agents.length <= room ? agents : [...agents].sort(byLoad).slice(0, Math.max(0, room - 1))
  const lines = busiest.map(agent =>
    row([
      agentLabel(agent.id),
      agent.name,
      String(agent.queued),
      agent.current_task === null ? '-' : taskLabel(agent.current_task),
      agent.paused ? 'paused' : agent.activity,
      String(agent.completed),
      String(agent.owned_files),
      agent.weighted_load.toFixed(1)
    ])
  )
  return busiest.length === agents.length ? lines : [...lines, `and ${agents.length - busiest.length} more`]
}

function byLoad(a: AgentReport, b: AgentReport): number {
  return Number(b.current_task !== null) - Number(a.current_task !== null) || b.weighted_load - a.weighted_load
}

function row(cells: readonly string[]): string {
  return cells.map((cell, at) => fit(cell, WIDTHS[at] ?? 8)).join(' ')
}

function time(milliseconds: number): string {
  return new Date(milliseconds).toTimeString().slice(0, 8)
}
