/** Maximum sessions in memory; the least recently charged one is dropped first. */
const MAX_SESSIONS = 10_000

/** Counts the milliseconds of clarification for each session, in the memory of this process. */
export class SessionAttention {
  readonly #spent = new Map<string, number>()

  spent(session: string): number {
    return this.#spent.get(session) ?? 0
  }

  debit(session: string, milliseconds: number): void {
    const total = this.spent(session) + milliseconds
    this.#spent.delete(session)
    this.#spent.set(session, total)
    if (this.#spent.size <= MAX_SESSIONS) return
    for (const oldest of this.#spent.keys()) {
      this.#spent.delete(oldest)
      return
    }
  }
}
