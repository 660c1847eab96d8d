/** Returns the message of a thrown value of any type. Never throws. */
export function errorMessage(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message) : String(error)
  } catch {
    return 'an error that cannot be printed'
  }
}
