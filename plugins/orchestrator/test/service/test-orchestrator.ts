import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentEvent, DatabaseStore, RemotePlacer, TaskEnd } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import type { Settings } from '#root'
import { type OpenOrchestrator, openOrchestrator } from '#service'
import { defaultSettings } from '../default-settings.ts'
import { fakeScanner } from '../gates/fake-scanner.ts'

export interface TestOrchestrator extends OpenOrchestrator {
  readonly settings: Settings
  readonly events: AgentEvent[]
  readonly ends: TaskEnd[]
  readonly warnings: string[]
  /** Fields of all other lines of the log that have a `target`. */
  readonly decisions: object[]
  /** Operating modes that were set in sessions. */
  readonly modes: (readonly [session: string, mode: object | null])[]
  /** Returns the types of the events so far, except for locks and heartbeats. */
  emitted(): readonly string[]
  /** Advances the clock. */
  advanceClock(milliseconds: number): void
}

interface Teardown {
  teardown(run: () => unknown): unknown
}

/** Opens an orchestrator in a temporary folder, unless `root` is set, with a clock that the test controls. */
export async function openTestOrchestrator(
  t: Teardown,
  options: {
    readonly settings?: Partial<Settings>
    readonly store?: DatabaseStore
    readonly root?: string
    readonly at?: number
    readonly placers?: readonly RemotePlacer[]
    readonly placeTimeoutMs?: number
  } = {}
): Promise<TestOrchestrator> {
  const root = options.root ?? mkdtempSync(join(tmpdir(), 'svc-orchestrator-'))
  if (options.root === undefined) t.teardown(() => rmSync(root, { recursive: true, force: true }))
  let time = options.at ?? 1_700_000_000_000
  const events: AgentEvent[] = []
  const ends: TaskEnd[] = []
  const warnings: string[] = []
  const modes: [string, object | null][] = []
  const decisions: object[] = []
  const settings = defaultSettings({ stubcheck_gate: false, auto_continue_enabled: false, ...options.settings })
  const warn = (message: string, fields?: object) => warnings.push(`${message} ${JSON.stringify(fields ?? {})}`)
  const decide = (_message: string, fields: object = {}) => {
    if ('target' in fields) decisions.push(fields)
  }
  const log: Logger = { debug: decide, info: decide, warn, error: warn }
  const open = await openOrchestrator({
    settings,
    repositoryId: 'test',
    root,
    store: options.store ?? null,
    log,
    ended: async end => void ends.push(end),
    envelope: async () => null,
    stubScanner: () => fakeScanner,
    remotePlacers: () => options.placers ?? [],
    setMode: async (session, mode) => void modes.push([session, mode]),
    now: () => time,
    random: () => 0.5,
    placeTimeoutMs: options.placeTimeoutMs
  })
  open.service.subscribe(event => events.push(event))
  t.teardown(() => open.close())
  return {
    ...open,
    settings,
    events,
    ends,
    warnings,
    decisions,
    modes,
    emitted: () =>
      events.map(({ kind }) => kind.type).filter(type => !type.startsWith('lock_') && type !== 'agent_heartbeat'),
    advanceClock(milliseconds) {
      time += milliseconds
    }
  }
}
