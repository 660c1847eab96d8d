/** Letters and signs that have a command in T1-encoded LaTeX. */
const COMMANDS: Readonly<Record<string, string>> = {
  '\\': '\\textbackslash{}',
  '{': '\\{',
  '}': '\\}',
  $: '\\$',
  '&': '\\&',
  '#': '\\#',
  '^': '\\textasciicircum{}',
  _: '\\_',
  '~': '\\textasciitilde{}',
  '%': '\\%',
  '"': '\\textquotedbl{}',
  '<': '\\textless{}',
  '>': '\\textgreater{}',
  '|': '\\textbar{}',
  '`': '\\textasciigrave{}',
  ß: '\\ss{}',
  æ: '\\ae{}',
  Æ: '\\AE{}',
  œ: '\\oe{}',
  Œ: '\\OE{}',
  ø: '\\o{}',
  Ø: '\\O{}',
  ł: '\\l{}',
  Ł: '\\L{}',
  đ: '\\dj{}',
  Đ: '\\DJ{}',
  ð: '\\dh{}',
  Ð: '\\DH{}',
  þ: '\\th{}',
  Þ: '\\TH{}',
  ı: '\\i{}',
  ŋ: '\\ng{}',
  Ŋ: '\\NG{}',
  '¡': '\\textexclamdown{}',
  '¿': '\\textquestiondown{}',
  '£': '\\pounds{}',
  '¥': '\\textyen{}',
  '€': '\\texteuro{}',
  '¢': '\\textcent{}',
  '§': '\\S{}',
  '¶': '\\P{}',
  '©': '\\textcopyright{}',
  '®': '\\textregistered{}',
  '™': '\\texttrademark{}',
  '°': '\\textdegree{}',
  ª: '\\textordfeminine{}',
  º: '\\textordmasculine{}',
  '«': '\\guillemotleft{}',
  '»': '\\guillemotright{}',
  '‹': '\\guilsinglleft{}',
  '›': '\\guilsinglright{}',
  '‘': '\\textquoteleft{}',
  '’': '\\textquoteright{}',
  '‚': '\\quotesinglbase{}',
  '“': '\\textquotedblleft{}',
  '”': '\\textquotedblright{}',
  '„': '\\quotedblbase{}',
  '–': '\\textendash{}',
  '—': '\\textemdash{}',
  '⁄': '/',
  '…': '\\ldots{}',
  '•': '\\textbullet{}',
  '†': '\\dag{}',
  '‡': '\\ddag{}',
  '\u00a0': '~',
  '\u202f': '\\,',
  '\u2009': '\\,',
  '\u00ad': '\\-'
}

/** Invisible characters that are left out. */
const INVISIBLE = /[\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]/u

const GREEK =
  'α alpha β beta γ gamma δ delta ε varepsilon ζ zeta η eta θ theta ι iota κ kappa λ lambda μ mu ν nu ξ xi π pi ρ rho σ sigma ς varsigma τ tau υ upsilon φ varphi χ chi ψ psi ω omega ϵ epsilon ϕ phi ϑ vartheta Γ Gamma Δ Delta Θ Theta Λ Lambda Ξ Xi Π Pi Σ Sigma Υ Upsilon Φ Phi Ψ Psi Ω Omega µ mu'
const SYMBOLS =
  '× times ÷ div ± pm ∓ mp · cdot ⋅ cdot ∙ bullet ∘ circ ∗ ast ≤ leq ≥ geq ≠ neq ≈ approx ≡ equiv ∼ sim ≃ simeq ≅ cong ∝ propto ≪ ll ≫ gg ∞ infty ∂ partial ∇ nabla ∑ sum ∏ prod ∫ int ∮ oint √ surd ∈ in ∉ notin ∋ ni ⊂ subset ⊃ supset ⊆ subseteq ⊇ supseteq ∪ cup ∩ cap ∅ emptyset ∖ setminus ∀ forall ∃ exists ∄ nexists ¬ neg ∧ wedge ∨ vee ⊕ oplus ⊗ otimes ⊥ bot ⊤ top ⊢ vdash ⊨ models → rightarrow ← leftarrow ↔ leftrightarrow ⇒ Rightarrow ⇐ Leftarrow ⇔ Leftrightarrow ↦ mapsto ↑ uparrow ↓ downarrow ⟨ langle ⟩ rangle ⌈ lceil ⌉ rceil ⌊ lfloor ⌋ rfloor ‖ Vert ′ prime ″ prime ℏ hbar ℓ ell ℜ Re ℑ Im ℵ aleph ∠ angle ∴ therefore ∵ because □ square ■ blacksquare ▲ blacktriangle ★ bigstar ✓ checkmark ⋯ cdots ⋮ vdots ⋱ ddots'

function pairs(text: string): ReadonlyMap<string, string> {
  const words = text.split(' ')
  return new Map(words.flatMap((word, index) => (index % 2 === 0 ? [[word, `\\${words[index + 1]}`] as const] : [])))
}

/** Characters with a command of mathematics: symbols with an ASCII letter or a digit have another treatment. */
export const MATH_CHARACTERS: ReadonlyMap<string, string> = new Map([
  ...pairs(GREEK),
  ...pairs(SYMBOLS),
  ['−', '-'],
  ['ℝ', '\\mathbb{R}'],
  ['ℕ', '\\mathbb{N}'],
  ['ℤ', '\\mathbb{Z}'],
  ['ℚ', '\\mathbb{Q}'],
  ['ℂ', '\\mathbb{C}']
])

/** Combining marks as accents. */
const ACCENTS: Readonly<Record<string, string>> = {
  '\u0300': '`',
  '\u0301': "'",
  '\u0302': '^',
  '\u0303': '~',
  '\u0304': '=',
  '\u0306': 'u',
  '\u0307': '.',
  '\u0308': '"',
  '\u030a': 'r',
  '\u030b': 'H',
  '\u030c': 'v',
  '\u0323': 'd',
  '\u0326': 'textcommabelow',
  '\u0327': 'c',
  '\u0328': 'k',
  '\u0331': 'b'
}

export interface TexText {
  readonly tex: string
  /** Characters that PDFLaTeX cannot typeset; `?` in the text. */
  readonly unsupported: readonly string[]
}

/**
 * Escapes text for LaTeX. Every special character becomes a command, and ligatures of the font are prevented, so that
 * the text appears as it is. The result contains printable ASCII characters only.
 */
export function texText(text: string): TexText {
  const unsupported = new Set<string>()
  const parts: string[] = []
  for (const cluster of text
    .replace(/\p{Variation_Selector}/gu, '')
    .normalize('NFC')
    .match(/\P{M}\p{M}*|\p{M}+/gu) ?? []) {
    const found = clusterTex(cluster)
    if (found === null) unsupported.add(cluster)
    parts.push(found ?? '?')
  }
  // Ligatures: dashes and quotes. TeX never sees two of these characters side by side.
  const tex = parts.join('').replace(/([-,'])(?=\1)/g, '$1{}')
  return { tex, unsupported: [...unsupported] }
}

function clusterTex(cluster: string): string | null {
  const direct = characterTex(cluster)
  if (direct !== null) return direct
  const [base = '', ...marks] = [...cluster.normalize('NFD')]
  if (marks.length === 0) return compatible(cluster)
  // Marks are applied from the inside: the first one is next to the letter.
  let tex: string | null = base === 'i' || base === 'j' ? `\\${base}{}` : characterTex(base)
  for (const mark of marks) {
    const accent = ACCENTS[mark]
    tex = tex === null || accent === undefined ? null : `\\${accent}{${tex}}`
  }
  return tex
}

function characterTex(character: string): string | null {
  if (/^[\s]$/u.test(character) && character !== '\u00a0' && character !== '\u202f' && character !== '\u2009')
    return ' '
  const command = COMMANDS[character]
  if (command !== undefined) return command
  if (/^[\x21-\x7e]$/.test(character)) return character
  if (INVISIBLE.test(character)) return ''
  const symbol = MATH_CHARACTERS.get(character)
  return symbol === undefined ? null : `\\ensuremath{${symbol}}`
}

/** Returns a character by its compatible form, such as the ligature fi, a circled or a superscript digit. */
function compatible(character: string): string | null {
  const form = character.normalize('NFKD')
  if (form === character || form.length > 8) return null
  const parts = [...form].map(characterTex)
  if (parts.includes(null)) return null
  const tex = parts.join('')
  if (/^[⁰¹²³⁴-⁹ⁿⁱ⁺⁻]$/u.test(character)) return `\\textsuperscript{${tex}}`
  return /^[₀-₉₊₋]$/u.test(character) ? `\\textsubscript{${tex}}` : tex
}
