// The matrix A of the scores: from the controls to numbers, checked. No DOM here.

import { textOf } from "./state.js";

const RADIAN = Math.PI / 180;
const rounded = (x) => Math.floor(1e6 * x + 0.5) / 1e6 || 0;

/** The rows of A for a value of the table and a dimension; null is the identity. Throws where it does not fit. */
export function matrixOf(A, d) {
  if (A.kind === "I") return null;
  if (A.kind === "rows") {
    if (A.rows.length !== d) throw new Error(`A has ${A.rows.length} rows, but the tokens have dimension ${d}`);
    return A.rows;
  }
  const [c, s] = [Math.cos(A.angle * RADIAN), Math.sin(A.angle * RADIAN)];
  const [a, b, e] = [A.l1 * c * c + A.l2 * s * s, (A.l1 - A.l2) * c * s, A.l1 * s * s + A.l2 * c * c].map(rounded);
  return d === 2 ? [[a, b], [b, e]] : [[a, b, 0], [b, e, 0], [0, 0, 1]];
}

/** Eigenvalues of a symmetric matrix, ascending (Jacobi rotations). */
export function eigenvalues(rows) {
  const M = rows.map((row) => [...row]);
  const d = M.length;
  for (let sweep = 0; sweep < 30; sweep += 1) {
    for (let p = 0; p < d; p += 1) {
      for (let q = p + 1; q < d; q += 1) {
        if (M[p][q] === 0) continue;
        const theta = (M[q][q] - M[p][p]) / (2 * M[p][q]);
        const t = (theta >= 0 ? 1 : -1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
        const c = 1 / Math.sqrt(t * t + 1);
        const s = t * c;
        for (let k = 0; k < d; k += 1) [M[k][p], M[k][q]] = [c * M[k][p] - s * M[k][q], s * M[k][p] + c * M[k][q]];
        for (let k = 0; k < d; k += 1) [M[p][k], M[q][k]] = [c * M[p][k] - s * M[q][k], s * M[p][k] + c * M[q][k]];
      }
    }
  }
  return M.map((row, i) => row[i]).sort((x, y) => x - y);
}

/** { A: rows or null, condition, size }: A symmetric positive definite, or an error that says what is wrong. */
export function metricOf(rows) {
  if (rows === null) return { A: null, condition: 1, size: 1 };
  const d = rows.length;
  for (let i = 0; i < d; i += 1) {
    for (let j = 0; j < i; j += 1) {
      if (rows[i][j] !== rows[j][i]) {
        throw new Error(`A must be symmetric, but A[${j}, ${i}] = ${rows[j][i]} and A[${i}, ${j}] = ${rows[i][j]}`);
      }
    }
  }
  const values = eigenvalues(rows);
  const [least, most] = [values[0], values[d - 1]];
  if (!(least > 0)) throw new Error(`A must be positive definite, but its smallest eigenvalue is ${Number(least.toPrecision(6))}`);
  if (!(least > 1e-14 * most)) throw new Error(`A is too ill-conditioned: its eigenvalues go from ${least} to ${most}`);
  if (rows.every((row, i) => row.every((x, j) => x === Number(i === j)))) return { A: null, condition: 1, size: 1 };
  return { A: rows, condition: most / least, size: most };
}

/** The metric of a state, or an error with a sentence for the reader. */
export function metricOfState(state, d) {
  try {
    return metricOf(matrixOf(state.A, d));
  } catch (error) {
    throw new Error(`${error.message} (A = ${textOf("A", state.A)})`);
  }
}
