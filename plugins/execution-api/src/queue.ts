import { errors } from './errors.ts'

/** Limits the requests in flight: those that the model works on, and a queue. */
export class Queue {
  readonly #waiting: number
  #inFlight = 0

  constructor(waiting: number) {
    this.#waiting = waiting
  }

  /** Throws `EXE_BUSY` if the queue is full. Returns the function that ends the request; call it once. */
  enter(slots: number): () => void {
    if (this.#inFlight >= slots + this.#waiting)
      throw errors.create(
        'EXE_BUSY',
        `${this.#inFlight} requests are in flight, and the queue holds ${this.#waiting}`,
        {
          hint: 'Repeat the request later, or raise the setting plugins.execution-api.queue.'
        }
      )
    this.#inFlight += 1
    return () => {
      this.#inFlight -= 1
    }
  }
}
