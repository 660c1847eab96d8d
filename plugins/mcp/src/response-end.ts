/** Wraps a response. `onEnd` is called once, when the body was read to the end, failed or was cancelled. */
export function whenBodyEnds(response: Response, onEnd: () => void): Response {
  if (response.body === null) {
    onEnd()
    return response
  }
  let ended = false
  const end = (): void => {
    if (ended) return
    ended = true
    onEnd()
  }
  const reader = response.body.getReader()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (value !== undefined) controller.enqueue(value)
        if (!done) return
        end()
        controller.close()
      } catch (error) {
        end()
        controller.error(error)
      }
    },
    async cancel(reason) {
      end()
      await reader.cancel(reason)
    }
  })
  return new Response(body, { status: response.status, statusText: response.statusText, headers: response.headers })
}
