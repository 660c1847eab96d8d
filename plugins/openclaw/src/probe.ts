import { LinkedSignal, settlesWithin } from '@svc/plugin-sdk'
import { ControlConnection, type ControlOptions } from './control-connection.ts'

/** Time limit of a probe, in milliseconds. */
export const PROBE_MS = 5_000

/** Returns the HTTP status of a GET request; null if no response arrives within 5 seconds. Reads no body. */
export async function probeHttp(url: string, token: string | undefined, signal?: AbortSignal): Promise<number | null> {
  const linked = new LinkedSignal().after(PROBE_MS, () => new DOMException('no response', 'TimeoutError'))
  if (signal !== undefined) linked.with(signal)
  try {
    const response = await fetch(url, {
      redirect: 'manual',
      signal: linked.signal,
      ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } })
    })
    await response.body?.cancel()
    return response.status
  } catch {
    signal?.throwIfAborted()
    return null
  } finally {
    linked.close()
  }
}

/** Returns whether a gateway accepts a connection to its control plane within 5 seconds. */
export async function probeControlPlane(
  options: Omit<ControlOptions, 'closing' | 'requestTimeoutMs'>,
  signal?: AbortSignal
): Promise<boolean> {
  const closing = new AbortController()
  const opening = ControlConnection.open({ ...options, requestTimeoutMs: PROBE_MS, closing: closing.signal })
  const closed = opening.then(
    async connection => {
      await connection.close()
      return true
    },
    () => false
  )
  const inTime = await settlesWithin(PROBE_MS, closed, signal)
  closing.abort()
  signal?.throwIfAborted()
  return inTime && (await closed)
}
