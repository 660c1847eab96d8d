import { errorMessage, type Logger } from '@svc/plugin-sdk'
import { EventBus } from '../events/bus.ts'
import type { EventLog } from '../events/log.ts'
import type { Clock } from '../state/ports.ts'
import { forwardClock } from './clock.ts'

/** The events of this process: listeners and numbers survive every reload. */
export class EventOutlet {
  readonly bus: EventBus
  /** The file that gets each, as the unit that serves wants it. */
  log: EventLog | null = null
  /** Number of times that another process took the seat; the state is reloaded each time. */
  seatsLost = 0

  constructor(log: Logger, now?: Clock) {
    this.bus = new EventBus({
      now: forwardClock(now),
      report: error => log.error(`a listener of events: ${errorMessage(error)}`)
    })
    this.bus.subscribe(event => this.log?.write(event))
  }
}
