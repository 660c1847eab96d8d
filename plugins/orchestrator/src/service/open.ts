import { resolve } from 'node:path'
import type { EventBus } from '../events/bus.ts'
import { EventLog } from '../events/log.ts'
import type { Clock } from '../state/ports.ts'
import type { World } from '../state/world.ts'
import { type CoreOptions, makeCore } from './core.ts'
import { EventOutlet } from './event-outlet.ts'
import { closeHub, openHub, tickHub, type UnitServices } from './hub.ts'
import type { OrchestratorService } from './orchestrator-service.ts'

export interface OpenOptions extends CoreOptions, UnitServices {
  readonly repositoryId: string
  /** Clock in Unix milliseconds; default: the system's. */
  readonly now?: Clock
}

export interface OpenOrchestrator {
  readonly service: OrchestratorService
  readonly world: World
  readonly bus: EventBus
  /** Runs the periodic work, and looks for the state of ended processes. */
  tick(): Promise<void>
  /** Must be called after the settings were replaced. */
  reconfigured(): void
  close(): Promise<void>
}

/** Opens an orchestrator that is not reloaded, and restores the stored state. Throws if the database cannot be used. */
export async function openOrchestrator(options: OpenOptions): Promise<OpenOrchestrator> {
  const { settings, log, root, repositoryId, now } = options
  const outlet = new EventOutlet(log, now)
  const { bus } = outlet
  const { event_log } = settings
  outlet.log = event_log === undefined ? null : new EventLog({ file: resolve(root, event_log), log })
  const hub = await openHub({ repositoryId, bus, services: options, now }, held => makeCore(held, options))
  const { service, world } = hub.core
  return {
    service,
    world,
    bus,
    tick: () => tickHub(hub),
    reconfigured: () => hub.core.reconfigured(),
    async close() {
      await closeHub(hub)
      await outlet.log?.close()
    }
  }
}
