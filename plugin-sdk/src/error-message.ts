/** Returns the message of a thrown value. Never throws, whatever was thrown. */
export function errorMessage(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message) : String(error)
  } catch {
    return 'an error that cannot be printed'
  }
}
