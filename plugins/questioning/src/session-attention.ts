/** Maximum sessions in memory; the one charged longest ago is dropped first. */
const KEPT = 10_000

/** Milliseconds of clarification per session, kept in this process. */
export class SessionAttention {
  readonly #spent = new Map<string, number>()

  spent(session: string): number {
    return this.#spent.get(session) ?? 0
  }

  debit(session: string, milliseconds: number): void {
    const total = this.spent(session) + milliseconds
    this.#spent.delete(session)
    this.#spent.set(session, total)
    if (this.#spent.size <= KEPT) return
    for (const oldest of this.#spent.keys()) {
      this.#spent.delete(oldest)
      return
    }
  }
}
