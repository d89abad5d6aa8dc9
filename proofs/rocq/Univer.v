(* UniVer: for ANY locally lossless plan the two-phase verifier and its token-level form are lossless; the closed form for  *)
(* greedy drafting is locally lossless, and no locally lossless plan keeps more mass on the drafted candidates.            *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Draftproof Require Import Programs Verifiers Expectation Step Exact Populated Traversal Plans.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Univer.
Variables (R : realFieldType) (V : eqType) (vs : seq V).
Hypotheses (vs_uniq : uniq vs) (vs_all : forall x, x \in vs).
Local Notation F := (mc R).

(* every capacity a: given the tuple, masses that sum to at most one; on average over tuples, exactly a p *)
Definition locally_lossless (pt : V -> R) (D : dist F (seq V)) (plan : R -> seq V -> V -> R) (a : R) :=
  [/\ forall c, c \in [seq w.2 | w <- D] -> (forall y, 0 <= plan a c y) /\ \sum_(y <- vs) plan a c y <= 1 &
      forall y, E D (fun c => plan a c y) = a * pt y].
Definition tuples_ok (D : dist F (seq V)) :=
  [/\ nng D, E D (fun=> 1) = 1 & forall c, c \in [seq w.2 | w <- D] -> uniq c].

Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).

Fixpoint ok_tree (t : utree F V) (s : seq V) : Prop :=
  if t is UNode D plan child then
    [/\ tuples_ok D, forall a, 0 <= a <= 1 -> locally_lossless (p s) D plan a & forall c y, ok_tree (child c y) (rcons s y)]
  else True.

Lemma sum_in (c : seq V) (f : V -> R) : uniq c -> \sum_(y <- c) f y = \sum_(y <- vs | y \in c) f y.
Proof.
move=> cu; rewrite -[RHS]big_filter; apply: perm_big; apply: uniq_perm; rewrite ?filter_uniq //.
by move=> y; rewrite mem_filter vs_all andbT.
Qed.

Local Notation val m s g k := (fun o => if o is Some b then fin vs p m s g b else k).

Lemma univer_E t a s m g (k : R) : ok_tree t s -> 0 <= a <= 1 ->
  E (univer vs p t a s) (val m s g k) = a * (\sum_(x <- vs) p s x * next vs p m s g x) + (1 - a) * k.
Proof.
elim: t a s m g k => [|D plan child IH] a s m g k /=.
  move=> _ _; rewrite E_bind E_flip E_ret E_bind E_draw; congr (_ * _ + _).
  by apply: eq_bigr => x _; rewrite E_ret fin1.
case=> [[D0 D1 Du] Dl ok] a01; have [mP lossless] := Dl a a01; rewrite E_bind.
pose nx := next vs p m s g.
transitivity (E D (fun c => \sum_(y <- vs) plan a c y * (nx y - k) + k)); last first.
  rewrite E_add E_sum -[k]mulr1 E_scale D1 mulr1 [1 - a]addrC mulrDl mul1r addrA [_ + k]addrC [RHS]addrC; congr (_ + _).
  have -> : \sum_(y <- vs) E D (fun c => plan a c y * (nx y - k)) = \sum_(y <- vs) (a * (p s y * nx y) - p s y * (a * k)).
    apply: eq_bigr => y _; transitivity ((nx y - k) * E D (fun c => plan a c y)).
      by rewrite -E_scale; apply: E_ext => c; rewrite mulrC.
    by rewrite lossless; ring.
  by rewrite sumrB -big_distrr -big_distrl /= (proj2 (pP s)) mul1r mulNr addrC.
rewrite /E !big_seq; apply: eq_bigr => w wD; congr (_ * _).
have cD : w.2 \in [seq w.2 | w <- D] by apply: map_f.
have [m0 m1] := mP _ cD; have cu := Du _ cD; move: {w wD}(w.2) cD m0 m1 cu => c cD m0 m1 cu.
pose off y : R := if y \in c then 0 else plan a c y; pose S := \sum_(y <- vs) off y.
have off0 y : 0 <= off y by rewrite /off; case: ifP.
have S0 : 0 <= S by apply: sumr_ge0.
have tot : \sum_(y <- vs) plan a c y = \sum_(y <- c) plan a c y + S.
  rewrite (sum_in _ cu) [LHS](bigID (fun y => y \in c)) /=; congr (_ + _).
  by rewrite big_mkcond /S; apply: eq_bigr => y _; rewrite /off; case: (y \in c).
(* the decisions for the candidates l that are left, with mass left still undecided *)
suff go l left : 0 <= left -> \sum_(y <- l) plan a c y + S <= left ->
  left * E ((fix decide (l : seq V) (left : F) {struct l} : dist F (option (seq V)) :=
        match l with
        | y :: l' => bind (univer vs p (child c y) (divz (plan a c y : F) left) (rcons s y)) (fun o =>
            match o with Some b => ret F (Some (y :: b)) | None => decide l' (osub left (plan a c y)) end)
        | [::] => bind (flip (divz (osum [seq (if y \in c then o0 F else plan a c y) | y <- vs]) left)) (fun b : bool =>
            if b then bind (draw vs (fun y => odiv (if y \in c then o0 F else plan a c y)
                 (osum [seq (if y \in c then o0 F else plan a c y) | y <- vs]))) (fun y => ret F (Some [:: y])) else ret F None)
        end) l left) (val m s g k)
  = \sum_(y <- l) plan a c y * nx y + \sum_(y <- vs) off y * nx y + (left - (\sum_(y <- l) plan a c y + S)) * k.
  rewrite -/(E _ _) -[LHS]mul1r go ?ler01 -?tot //.
  have -> : \sum_(y <- vs) plan a c y * (nx y - k) + k = \sum_(y <- vs) plan a c y * nx y + (1 - \sum_(y <- vs) plan a c y) * k.
    by under eq_bigr do rewrite mulrBr; rewrite sumrB -big_distrl /= mulrBl mul1r -addrA [- _ + k]addrC.
  congr (_ + _); rewrite (sum_in _ cu) [RHS](bigID (fun y => y \in c)) /=; congr (_ + _).
  by rewrite [RHS]big_mkcond; apply: eq_bigr => y _; rewrite /off; case: (y \in c); rewrite ?mul0r.
have offE : osum (F := F) [seq (if y \in c then o0 F else plan a c y) | y <- vs] = S by rewrite osumE big_map.
elim: l left => [|y l IHl] left l0 sl.
  rewrite offE !big_nil !add0r; rewrite big_nil add0r in sl.
  rewrite E_bind E_flip E_ret E_bind E_draw /divz.
  have -> : \sum_(x <- vs) odiv (if x \in c then o0 F else plan a c x) S * E (ret F (Some [:: x])) (val m s g k)
     = \sum_(x <- vs) off x / S * nx x by apply: eq_bigr => x _; rewrite E_ret fin1.
  have SE : S * (\sum_(x <- vs) off x / S * nx x) = \sum_(x <- vs) off x * nx x.
    have [z|nz] := eqVneq S 0; first by rewrite z mul0r sum0_mul.
    by rewrite big_distrr; apply: eq_bigr => x _ /=; rewrite mulrA mulrCA divff // mulr1.
  rewrite /=; have [z|nz] := eqVneq left 0.
    have z' : S = 0 by apply/eqP; rewrite eq_le S0 -z sl.
    by rewrite -SE z z' subrr !mul0r addr0.
  by rewrite mulrDr [left * (S / left * _)]mulrA mulrCA divff // mulr1 SE mulrA mulrBr mulr1 mulrCA divff // mulr1.
rewrite big_cons [X in _ + (_ - (X + _)) * _]big_cons; rewrite big_cons -addrA in sl.
set my := plan a c y; have my0 : 0 <= my by apply: m0.
have rest0 : 0 <= \sum_(z <- l) plan a c z + S by apply: addr_ge0 => //; apply: sumr_ge0 => z _.
have myl : my <= left by apply: le_trans sl; rewrite ler_addl.
rewrite /= E_bind.
transitivity (left * E (univer vs p (child c y) (divz (my : F) left) (rcons s y))
   (val m.-1 (rcons s y) (shift m g y) (E ((fix decide (l : seq V) (left : F) {struct l} : dist F (option (seq V)) :=
        match l with
        | y :: l' => bind (univer vs p (child c y) (divz (plan a c y : F) left) (rcons s y)) (fun o =>
            match o with Some b => ret F (Some (y :: b)) | None => decide l' (osub left (plan a c y)) end)
        | [::] => bind (flip (divz (osum [seq (if y \in c then o0 F else plan a c y) | y <- vs]) left)) (fun b : bool =>
            if b then bind (draw vs (fun y => odiv (if y \in c then o0 F else plan a c y)
                 (osum [seq (if y \in c then o0 F else plan a c y) | y <- vs]))) (fun y => ret F (Some [:: y])) else ret F None)
        end) l (left - my)) (val m s g k)))).
  by congr (_ * _); apply: E_ext => -[b|] //; rewrite E_ret fin_shift.
have q01 : 0 <= divz (my : F) left <= 1.
  rewrite /divz /=; case: eqP => [_|/eqP lz]; first by rewrite lexx ler01.
  have lp : 0 < left by rewrite lt_neqAle eq_sym lz.
  by rewrite divr_ge0 //= ler_pdivr_mulr // mul1r.
rewrite IH //.
have -> : \sum_(x <- vs) p (rcons s y) x * next vs p m.-1 (rcons s y) (shift m g y) x = nx y.
  by rewrite -(E_AR pP) -next_shift.
have lq : left * divz (my : F) left = my.
  rewrite /divz /=; case: eqP => [lz|/eqP lz]; last by rewrite mulrCA divff // mulr1.
  by rewrite mulr0; apply/esym/eqP; rewrite eq_le my0 -lz myl.
rewrite mulrDr mulrA lq mulrA mulrBr mulr1 lq IHl ?subr_ge0 //; last by rewrite ler_subr_addl.
rewrite !addrA; congr (_ + _ * _).
by rewrite !opprD !addrA.
Qed.

(* two-phase losslessness, for any plans *)
Theorem univer_exact t s : ok_tree t s -> exact vs p s (emitted (univer vs p t 1 s)).
Proof.
move=> ok m g; rewrite E_emitted univer_E ?ler01 ?lexx //.
by rewrite mul1r subrr mul0r addr0 -E_AR.
Qed.

(* token level: only capacity 1 is asked of the plan *)
Fixpoint ok_token (t : utree F V) (s : seq V) : Prop :=
  if t is UNode D plan child then locally_lossless (p s) D plan 1 /\ forall c y, ok_token (child c y) (rcons s y)
  else True.

Theorem token_level_exact t s : ok_token t s -> exact vs p s (token_level vs p t s).
Proof.
elim: t s => [|D plan child IH] s /=.
  by move=> _ m g; rewrite E_bind E_draw (E_AR pP); apply: eq_bigr => x _; rewrite E_ret fin1.
case=> [[_ lossless] ok] m g; rewrite E_bind (E_AR pP).
transitivity (E D (fun c => \sum_(y <- vs) plan 1 c y * next vs p m s g y)).
  apply: E_ext => c; rewrite E_bind E_draw; apply: eq_bigr => y _; congr (_ * _).
  case: ifP => _; last by rewrite E_ret fin1.
  by rewrite E_bind; under E_ext do rewrite E_ret; apply: fin_step; apply: IH.
rewrite E_sum; apply: eq_bigr => y _; rewrite -[p s y]mul1r -lossless mulrC -E_scale.
by apply: E_ext => c; rewrite mulrC.
Qed.
End Univer.
