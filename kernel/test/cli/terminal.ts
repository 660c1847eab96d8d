import type { Terminal } from '#cli'

/** A terminal of a width, which marks what would be coloured. */
export function paper(columns: number = Number.POSITIVE_INFINITY): Terminal {
  return { columns, paint: (colour, text) => (colour === 'bold' ? text : `<${colour}>${text}</>`) }
}
