import { createHash } from 'node:crypto'
import type { PublicationManifest } from '@svc/contracts'
import { CITATIONS, sampleWork } from './sample-works.ts'

/** Image of one pixel. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64'
)

const IMAGE = { media_type: 'image/png', bytes: PNG.length, sha3_256: createHash('sha3-256').update(PNG).digest('hex') }

const BODY = String.raw`# Exactly-once submission of research

A queue submits *once* [@gray1981], even with **cut** connections[^cut] [@lamport1978, p. 3; @web].
It costs 5 % & 3 $ a day, see ${'`'}a_b --c "d" \end{verbatim}${'`'} and ~~not~~ [the site](https://example.org/a_b?x=1&y=%20#top).

[^cut]: Both before and after the *effect*,
    as [@lamport1978] says.

## Model

The rate is $\lambda_{i}^2 = \frac{\alpha}{\sqrt[3]{x}} \leq 1$ for $x ∈ ℝ$; prices are \$5 and 10 %.

$$\left( \sum_{k=1}^{n} \mathbb{E}[X_k] \right) = \begin{cases} 1 & \text{if } x > 0 \\ 0 & \text{otherwise} \end{cases}$$

### Lists[^cut]

- first – “quoted” … naïve Erdős, Łódź, Škoda, straße, Ångström
  - second
    1. third
    2. fourth
- [x] done
- [ ] open
- [bracket] first in an item

7. seven
8. eight

| Left | Center | Right |
|:-----|:------:|------:|
| [a]  | *b*    | $c^2$ |
| x\|y | 50%    | #3    |

> A quote
>
> with two paragraphs & a formula $e^{i\pi}$.

${'```'}js
const a = "x\y" // 100% {braces} $dollar$ \end{document}

[1, 2].map(f)
${'```'}

![A plot with 50% & more](figures/plot.png)

---

Last line with an inline ![icon](figures/plot.png) and an <!-- invisible --> comment.
`

/** Returns a publication with everything that the document writer knows; its image is \`docs/figures/plot.png\`. */
export function arxivWork(changes: Parameters<typeof sampleWork>[0] = {}): PublicationManifest {
  return sampleWork({
    title: 'Exactly-once submission of research',
    body_markdown: BODY,
    citations: CITATIONS,
    metadata: {
      license: 'CC-BY-4.0',
      publication_date: '2026-04-02',
      creators: [
        { name: 'Lovelace, Ada', affiliation: 'Analytical Engine Institute & Friends' },
        { name: 'Erdős, Pál' }
      ],
      media: [{ ...IMAGE, path: 'figures/plot.png' }],
      arxiv: { primary_category: 'cs.DC', categories: ['cs.DL'], comments: '12 pages, 1 figure' }
    },
    ...changes
  })
}
