/** Red, green and blue from 0 to 255. */
export type Colour = readonly [red: number, green: number, blue: number]

/** Parses a CSS colour: `#rgb`, `#rrggbb` or `rgb(r, g, b)`; null for other strings and translucent colours. */
export function readColour(text: string): Colour | null {
  const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(text.trim())?.[1]
  if (hex !== undefined) {
    const size = hex.length / 3
    const part = (index: number): number => {
      const digits = hex.slice(index * size, index * size + size)
      return Number.parseInt(size === 1 ? digits + digits : digits, 16)
    }
    return [part(0), part(1), part(2)]
  }
  const parts = /^rgb\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})\s*\)$/i.exec(text.trim())
  if (parts === null) return null
  const [red, green, blue] = parts.slice(1).map(Number)
  if (red === undefined || green === undefined || blue === undefined) return null
  return Math.max(red, green, blue) > 255 ? null : [red, green, blue]
}

/** Returns the contrast ratio of WCAG 2.1, from 1 to 21. */
export function contrast(a: Colour, b: Colour): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

/** Returns the relative luminance of WCAG 2.1, from 0 to 1. */
function luminance(colour: Colour): number {
  const [red, green, blue] = colour.map(part => {
    const value = part / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
