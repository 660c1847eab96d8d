import type { AnswerEvent } from '../answer/answer.ts'
import { type RequestContext, toWireError } from '../wire-error.ts'
import { type OutputEvent, ResponseOutput } from './output.ts'
import { failureOf, type ResponseEnd, type ResponseHead, responseOf } from './response.ts'

type Events = AsyncIterable<AnswerEvent>

/** Stores a response that has ended, and returns it. `store` is false if that failed. */
export type Save = (response: ResponseHead) => Promise<ResponseHead>

/** Resolves to the complete response. `summary`: whether thoughts are returned as a summary. */
export async function wholeResponse(
  head: ResponseHead,
  events: Events,
  summary: boolean,
  save: Save
): Promise<ResponseHead> {
  const output = new ResponseOutput(head.id, summary)
  for await (const event of events) for (const _ of output.push(event));
  return save(responseOf(head, endOf(output)))
}

/**
 * Yields the response as server-sent events with consecutive sequence numbers. The last event is `response.completed`,
 * `response.incomplete` or `response.failed`; the response is stored before it is sent.
 */
export async function* responseEvents(
  head: ResponseHead,
  events: Events,
  summary: boolean,
  save: Save,
  context: RequestContext
): AsyncGenerator<string, void> {
  let sequence = 0
  const sent = (event: OutputEvent): string =>
    `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: sequence++ })}\n\n`
  const output = new ResponseOutput(head.id, summary)
  const begun = responseOf(head, { status: 'in_progress', output: [], usage: null })
  yield sent({ type: 'response.created', response: begun })
  yield sent({ type: 'response.in_progress', response: begun })
  try {
    for await (const event of events) for (const each of output.push(event)) yield sent(each)
    const response = await save(responseOf(head, endOf(output)))
    yield sent({ type: `response.${String(response.status)}`, response })
  } catch (error) {
    const failure = failureOf(toWireError(error, context))
    const closing = output.fail()
    let step = closing.next()
    for (; step.done !== true; step = closing.next()) yield sent(step.value)
    const response = await save(responseOf(head, { status: 'failed', output: step.value, usage: null, error: failure }))
    yield sent({ type: 'response.failed', response })
  }
}

function endOf({ end }: ResponseOutput): ResponseEnd {
  if (end === null) throw new Error('an answer ended without its final event')
  return end
}
