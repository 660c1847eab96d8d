import type { HttpExchange } from '@svc/contracts'
import { failWith } from '../auth/refuse.ts'
import { sendAnswer } from '../serving/send-answer.ts'
import { EventStream } from './event-stream.ts'
import { streamOf } from './live-access.ts'
import { errorText } from './live-errors.ts'
import type { QueryWatches } from './query-watches.ts'
import { slowClient } from './slow-client.ts'
import type { QueryAnswer, ResultSink, WatchedQuery } from './watched-query.ts'

/** Sends clients the result of a query whenever it changes, as server-sent events. */
export class QueryStreams {
  readonly #watches: QueryWatches

  constructor(watches: QueryWatches) {
    this.#watches = watches
  }

  /** Handles `GET /api/live/query/:name?…`. */
  handle(exchange: HttpExchange): void {
    this.#open(exchange).catch((error: unknown) => failWith(exchange, error))
  }

  async #open(exchange: HttpExchange): Promise<void> {
    const { query, params } = exchange
    const watched = await this.#watches.of(params.name ?? '', query, streamOf(exchange))
    const first = await watched.first()
    if (first.status === 200) streamTo(exchange, watched)
    else {
      watched.leave()
      sendAnswer(exchange, first.status, first.body)
    }
  }
}

function streamTo(exchange: HttpExchange, watched: WatchedQuery): void {
  let remove: (() => void) | null = null
  const stream = new EventStream(exchange, () => remove?.())
  const sink: ResultSink = {
    send({ status, body }: QueryAnswer, position) {
      if (stream.send(status === 200 ? 'result' : 'error', body, position)) return
      return stream.drained().then(hasRead => {
        if (!hasRead) stream.end('error', errorText(slowClient()))
      })
    },
    beat: position => stream.beat(position),
    end: error => (error === null ? stream.end(null) : stream.end('error', error.body))
  }
  remove = watched.add(sink)
}
