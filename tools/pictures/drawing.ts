/** Parts of a hand-made picture: boxes with lines of text, and arrows. Colours follow the reader's dark or light mode. */

export type Kind = 'box' | 'kernel' | 'plugin' | 'keep' | 'bad' | 'shadow'

export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  readonly kind?: Kind
  readonly title: string
  readonly lines?: readonly string[]
  /** Path in the repository, in small monospace letters at the bottom. */
  readonly file?: string
}

export interface Picture {
  readonly title: string
  /** Text for readers who cannot see the picture. */
  readonly description: string
  readonly width: number
  readonly height: number
  readonly parts: readonly string[]
}

const LINE = 17
const PADDING = 12
/** Width of a letter in a wide font, in pixels, so that texts fit with any font of a reader. */
const LETTER = { name: 8.7, small: 6.6, file: 6.7 } as const
const STYLE = `
      text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2933 }
      .page { fill: #fbfcfd } .rule { stroke: #cbd2d9; stroke-width: 1 }
      .box { fill: #ffffff; stroke: #7b8794 } .kernel { fill: #e6f0fa; stroke: #3a6ea5 }
      .plugin { fill: #eaf6ec; stroke: #3f8f5b } .keep { fill: #fdf3d8; stroke: #b7791f }
      .bad { fill: #fdeaea; stroke: #b83232 } .shadow { fill: #f5f7fa; stroke: #3a6ea5; stroke-dasharray: 6 4 }
      rect { stroke-width: 1.5 } .way { fill: none; stroke: #52606d; stroke-width: 1.8; marker-end: url(#tip) }
      .tip { fill: #52606d } .faint { stroke-dasharray: 5 4 }
      .head { font-size: 17px; font-weight: bold } .name { font-size: 14px; font-weight: bold }
      .small { font-size: 12.5px; fill: #3e4c59 } .file { font-family: ui-monospace, monospace; font-size: 11px; fill: #616e7c }
      .mid { text-anchor: middle } .end { text-anchor: end }
      @media (prefers-color-scheme: dark) {
        text { fill: #e4e7eb } .page { fill: #1b1f24 } .rule { stroke: #3e4c59 }
        .box { fill: #262b31; stroke: #7b8794 } .kernel { fill: #1d2f42; stroke: #6ba3dc }
        .plugin { fill: #1e3325; stroke: #6cc08b } .keep { fill: #3a3018; stroke: #d9a441 }
        .bad { fill: #3d2022; stroke: #e07a7a } .shadow { fill: #20262c; stroke: #6ba3dc }
        .way { stroke: #9aa5b1 } .tip { fill: #9aa5b1 } .small { fill: #c3cad2 } .file { fill: #9aa5b1 }
      }`

/** Returns the picture as SVG. */
export function svg({ title, description, width, height, parts }: Picture): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title description">
  <title id="title">${escaped(title)}</title>
  <desc id="description">${escaped(description)}</desc>
  <defs>
    <marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">
      <path class="tip" d="M0 0 L10 5 L0 10 z"/>
    </marker>
    <style>${STYLE}
    </style>
  </defs>
  <rect class="page" width="${width}" height="${height}" rx="10"/>
${parts.map(part => `  ${part}`).join('\n')}
</svg>
`
}

/** Draws a box. Throws if a text does not fit into it. */
export function box({ x, y, width, height, kind = 'box', title, lines = [], file }: Box): string {
  const texts = [[title, 'name'], ...lines.map(line => [line, 'small']), [file ?? '', 'file']] as [
    string,
    keyof typeof LETTER
  ][]
  for (const [content, style] of texts)
    if (content.length * LETTER[style] > width - PADDING)
      throw new Error(`${content}: too long for a box of ${width} pixels`)
  if (30 + lines.length * LINE + (file === undefined ? 0 : 20) > height)
    throw new Error(`${title}: too many lines for the box`)
  return [
    `<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${height}" rx="8"/>`,
    text(x + PADDING, y + 24, title, 'name'),
    ...lines.map((line, at) => text(x + PADDING, y + 24 + LINE * (at + 1) + 3, line)),
    ...(file === undefined ? [] : [text(x + PADDING, y + height - 10, file, 'file')])
  ].join('')
}

export function text(x: number, y: number, content: string, style = 'small'): string {
  return `<text class="${style}" x="${x}" y="${y}">${escaped(content)}</text>`
}

/** Draws an arrow along the commands of an SVG path. */
export function arrow(path: string, style = ''): string {
  return `<path class="${`way ${style}`.trim()}" d="${path}"/>`
}

export function rule(y: number, from: number, to: number): string {
  return `<line class="rule" x1="${from}" y1="${y}" x2="${to}" y2="${y}"/>`
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
