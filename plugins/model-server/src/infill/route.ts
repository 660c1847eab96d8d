import type { FastifyInstance } from 'fastify'
import { startText } from '../chat-answer.ts'
import { clientOf } from '../client.ts'
import { adapterOf } from '../served-model.ts'
import { replySignal, sendStream } from '../stream-reply.ts'
import { textOf } from '../text-prompt.ts'
import { contextOf } from '../wire-error.ts'
import type { WireServices } from '../wire-services.ts'
import { limited } from './limited.ts'
import { infillPrompt } from './prompt.ts'
import { infillChunks, infillReply } from './reply.ts'
import { readInfillRequest } from './request.ts'

/** Adds `/infill` in the format of llama.cpp: the text of a gap in a file. */
export function infillRoute(scope: FastifyInstance, services: WireServices): void {
  const { models, log } = services
  scope.post('/infill', async (request, reply) => {
    const { model: asked, text, options, limits, ...body } = readInfillRequest(request.body)
    const gone = replySignal(reply)
    const startedAt = performance.now()
    const { served, completions, weights } = await models.choose(asked, gone)
    const variant = served.find(asked)
    const { model } = await weights.use(gone)
    const taps = services.taps(request.headers, variant)
    const changed = await taps.prompt(model, { prompt: text.prefix, suffix: text.suffix })
    const around = { prefix: textOf(model, changed.prompt), suffix: changed.suffix ?? '', extra: text.extra }
    const { maxTokens = completions.limits.maxTokens } = options
    const half = Math.floor(model.info.contextLength / 2)
    const { tokens, truncated } = infillPrompt(
      model,
      variant.name,
      around,
      maxTokens === 'rest' ? half : Math.min(maxTokens, half)
    )
    const start = { ...options, prompt: { kind: 'tokens' as const, tokens }, client: clientOf(request), startedAt }
    const answer = await startText(served, completions, { ...start, ...adapterOf(variant) }, gone, taps)
    const events = limited(answer.events, limits, answer.finish)
    const head = {
      model: variant.name,
      truncated,
      fields: body.fields,
      tokens: body.returnTokens ? () => answer.answerTokens : null
    }
    if (!body.stream) return infillReply(head, events)
    const chunks = infillChunks(head, events, contextOf(request, log))
    return sendStream(reply, 'text/event-stream; charset=utf-8', chunks, services.stallMs())
  })
}
