import type { Logger } from '@svc/plugin-sdk'
import { EventBus } from '../events/bus.ts'
import type { EventLog } from '../events/log.ts'
import type { Clock } from '../state/ports.ts'
import { forwardClock } from './clock.ts'

/** The events of this process: whoever listens goes on listening, and numbers go on, whatever is reloaded. */
export class EventOutlet {
  readonly bus: EventBus
  /** The file that gets each, as the unit that serves wants it. */
  log: EventLog | null = null
  /** How often the seat of this process was taken by another: its state is read anew then. */
  seatsLost = 0

  constructor(log: Logger, now?: Clock) {
    this.bus = new EventBus({
      now: forwardClock(now),
      report: error => log.error(`a listener of events: ${error instanceof Error ? error.message : String(error)}`)
    })
    this.bus.subscribe(event => this.log?.write(event))
  }
}
