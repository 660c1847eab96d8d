/** Clock of an archive, from the `Date` headers of its answers. */
export class RemoteClock {
  #last: { readonly remoteMs: number; readonly at: number } | null = null

  /** Takes the time of an answer. */
  observe(headers: Headers): void {
    const remoteMs = Date.parse(headers.get('date') ?? '')
    if (!Number.isNaN(remoteMs)) this.#last = { remoteMs, at: performance.now() }
  }

  /** Returns the time of the archive in Unix milliseconds, to the second; that of this machine before any answer. */
  now(): number {
    return this.#last === null ? Date.now() : this.#last.remoteMs + (performance.now() - this.#last.at)
  }
}
