import { errorMessage, type Logger } from '@svc/plugin-sdk'
import { EventBus } from '../events/bus.ts'
import type { EventLog } from '../events/log.ts'
import type { Clock } from '../state/ports.ts'
import { forwardClock } from './clock.ts'

/** Version of {@link EventOutlet}, which crosses a reload. Increment it with every change to its public members. */
export const BUS_VERSION = 2

/** Events of this process. Listeners and event numbers survive reloads. */
export class EventOutlet {
  readonly bus: EventBus
  /** Log file of the serving unit; null if there is none. */
  log: EventLog | null = null
  /** Number of times that another process has claimed the seat; each time, the next unit opens a new hub. */
  seatsLost = 0

  constructor(log: Logger, now?: Clock) {
    this.bus = new EventBus({
      now: forwardClock(now),
      report: error => log.error(`an event listener failed: ${errorMessage(error)}`)
    })
    this.bus.subscribe(event => this.log?.write(event))
  }
}
