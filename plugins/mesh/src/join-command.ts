/** Returns the command that joins a mesh with a one-time token. */
export function joinCommand(urls: readonly string[], bootstrap: string): string {
  return `svc mesh join ${urls.join(',')} --bootstrap ${bootstrap}`
}
