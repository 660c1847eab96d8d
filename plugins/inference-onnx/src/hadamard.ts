const MAX_SIZE = 64

/**
 * Returns the size of the groups that are rotated together: the largest power of two that divides `columns`, up to 64.
 */
export function rotationSize(columns: number): number {
  let size = MAX_SIZE
  while (columns % size !== 0) size /= 2
  return size
}

/**
 * Multiplies every group of `size` values (a power of two) by the orthonormal Hadamard matrix, in place.
 *
 * Rotating weights and inputs keeps their product, but spreads outliers over the group, so that rounding with one scale
 * loses less (https://arxiv.org/abs/2404.00456).
 */
export function rotate(values: Float32Array, size: number): void {
  const norm = 1 / Math.sqrt(size)
  for (let start = 0; start < values.length; start += size) {
    for (let half = 1; half < size; half *= 2) {
      for (let i = start; i < start + size; i += 2 * half) {
        for (let j = i; j < i + half; j++) {
          const [a, b] = [values[j] as number, values[j + half] as number]
          values[j] = a + b
          values[j + half] = a - b
        }
      }
    }
    for (let i = start; i < start + size; i++) values[i] = (values[i] as number) * norm
  }
}

/** Returns the matrix, F32 `[size, size]`, which is its own transpose and inverse. */
export function hadamardMatrix(size: number): Float32Array<ArrayBuffer> {
  const matrix = new Float32Array(size * size)
  for (let row = 0; row < size; row++) matrix[row * size + row] = 1
  rotate(matrix, size)
  return matrix
}
