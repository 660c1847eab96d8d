import { get, type IncomingMessage } from 'node:http'

export interface StreamEvent {
  readonly id: string
  readonly event: string
  readonly data: string
}

export interface EventClient {
  readonly status: number
  readonly type: string
  /** Received events with data. */
  readonly events: AsyncIterableIterator<StreamEvent>
  /** The last event id, as in an EventSource; a comment with a number also updates it. */
  readonly lastId: () => string
  body(): Promise<string>
  close(): void
}

/** Reads server-sent events as the standard requires, but does not reconnect. */
export async function listen(url: string, headers: Readonly<Record<string, string>> = {}): Promise<EventClient> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { headers, agent: false }, resolve).once('error', reject)
  })
  let lastId = headers['last-event-id'] ?? ''
  async function* events(): AsyncIterableIterator<StreamEvent> {
    let [id, event] = [lastId, 'message']
    let data: string[] = []
    for await (const line of lines(response)) {
      if (line === '') {
        lastId = id
        if (data.length > 0) yield { id, event, data: data.join('\n') }
        event = 'message'
        data = []
      } else if (line.startsWith('id: ')) id = line.slice(4)
      else if (line.startsWith('event: ')) event = line.slice(7)
      else if (line.startsWith('data: ')) data.push(line.slice(6))
    }
  }
  return {
    status: response.statusCode ?? 0,
    type: response.headers['content-type'] ?? '',
    events: events(),
    lastId: () => lastId,
    async body() {
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += String(chunk)
      return text
    },
    close: () => response.destroy()
  }
}

/** Yields chunks until the connection ends or is lost. */
async function* lines(response: IncomingMessage): AsyncIterableIterator<string> {
  let text = ''
  try {
    for await (const chunk of response.setEncoding('utf8')) {
      const parts = (text + String(chunk)).split('\n')
      text = parts.pop() ?? ''
      yield* parts
    }
  } catch (error) {
    if ((error as { readonly code?: string }).code !== 'ECONNRESET') throw error
  }
}
