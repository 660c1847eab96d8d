import type { Terminal } from '#cli'

/** Creates a terminal of a width that marks coloured text with tags. */
export function paper(columns: number = Number.POSITIVE_INFINITY): Terminal {
  return { columns, paint: (colour, text) => (colour === 'bold' ? text : `<${colour}>${text}</>`) }
}
